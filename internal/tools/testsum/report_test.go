package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// summarize feeds events, one JSON object a line, and returns what is printed.
func summarize(t *testing.T, events string) string {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	r.close()
	return out.String()
}

func TestSummaryCountsWhatRan(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		want   []string
		not    []string
	}{
		"a passing test is silent": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: chatter\n"}
			 {"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
			 {"Action":"pass","Package":"p","Elapsed":0.2}`,
			[]string{"ok    p 200ms\n", "\n1 passed, 0 failed, 0 skipped\n"},
			[]string{"chatter"},
		},
		"a failing test shows its output": {
			`{"Action":"output","Package":"p","Test":"TestA/sub","Output":"    a_test.go:1: wrong\n"}
			 {"Action":"fail","Package":"p","Test":"TestA/sub"}
			 {"Action":"fail","Package":"p","Test":"TestA"}
			 {"Action":"fail","Package":"p"}`,
			[]string{"a_test.go:1: wrong\n", "FAIL  p", "\n0 passed, 1 failed, 0 skipped\n"}, nil,
		},
		"of the subtests only what failed is shown, and named at the end": {
			`{"Action":"output","Package":"p","Test":"TestA/well","Output":"chatter\n"}
			 {"Action":"output","Package":"p","Test":"TestA/ill/deep","Output":"ouch\n"}
			 {"Action":"output","Package":"p","Test":"TestA","Output":"frame\n"}
			 {"Action":"pass","Package":"p","Test":"TestA/well"}
			 {"Action":"fail","Package":"p","Test":"TestA/ill/deep"}
			 {"Action":"fail","Package":"p","Test":"TestA/ill"}
			 {"Action":"fail","Package":"p","Test":"TestA"}
			 {"Action":"fail","Package":"p"}`,
			[]string{"ouch\nframe\n", "\nfailed:\n  p TestA/ill/deep\n\n1 passed, 1 failed, 0 skipped\n"},
			[]string{"chatter"},
		},
		"a parent that fails by itself counts": {
			`{"Action":"pass","Package":"p","Test":"TestA/sub"}
			 {"Action":"output","Package":"p","Test":"TestA","Output":"leak\n"}
			 {"Action":"fail","Package":"p","Test":"TestA"}
			 {"Action":"fail","Package":"p"}`,
			[]string{"leak\n", "\n1 passed, 1 failed, 0 skipped\n"}, nil,
		},
		"a skip is listed with its reason": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
			 {"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: no engine answers\n"}
			 {"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
			 {"Action":"skip","Package":"p","Test":"TestA"}
			 {"Action":"pass","Package":"p"}`,
			[]string{"left out:\n  p TestA: a_test.go:1: no engine answers\n", "\n0 passed, 0 failed, 1 skipped\n"}, nil,
		},
		"a package that does not build fails": {
			`{"Action":"build-output","ImportPath":"p [p.test]","Output":"a.go:1: undefined: x\n"}
			 {"Action":"build-fail","ImportPath":"p [p.test]"}
			 {"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			[]string{"a.go:1: undefined: x\n", "FAIL  p did not build\n", "\n0 passed, 1 failed, 0 skipped\n"}, nil,
		},
		"a package that panics fails with its output": {
			`{"Action":"pass","Package":"p","Test":"TestA"}
			 {"Action":"output","Package":"p","Output":"panic: boom\n"}
			 {"Action":"fail","Package":"p"}`,
			[]string{"panic: boom\n", "\n1 passed, 1 failed, 0 skipped\n"}, nil,
		},
		"a package without tests is no success": {
			`{"Action":"output","Package":"p","Output":"?   p [no test files]\n"}
			 {"Action":"skip","Package":"p"}`,
			[]string{"1 packages have no tests", "\n0 passed, 0 failed, 0 skipped\n"}, nil,
		},
		"what is cut off fails": {
			`{"Action":"output","Package":"p","Test":"TestA","Output":"half way\n"}`,
			[]string{"half way\n", "FAIL  p was cut off\n", "\n0 passed, 1 failed, 0 skipped\n"}, nil,
		},
		"what is no event is shown": {
			"go: no such module",
			[]string{"go: no such module\n"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := summarize(t, c.events)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is missing in:\n%s", w, got)
				}
			}
			for _, n := range c.not {
				if strings.Contains(got, n) {
					t.Errorf("%q does not belong in:\n%s", n, got)
				}
			}
		})
	}
}

func TestOutputOfOneTestIsBounded(t *testing.T) {
	p := newReport(nil).pkg("p")
	line := strings.Repeat("x", 1000) + "\n"
	for range 2000 {
		p.hear(event{Test: "TestA", Output: line})
	}
	p.hear(event{Test: "TestA", Output: "the end\n"})
	got := p.output["TestA"].all()
	if len(got) > maxOutput+2000 || !strings.HasSuffix(got, "the end\n") {
		t.Errorf("%d bytes kept, ending %q", len(got), got[len(got)-10:])
	}
}

func TestExitCodeIsGoTests(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestM(t *testing.T) {\n\tif os.Getenv(\"FAIL_M\") != \"\" {\n\t\tt.Fatal(\"asked to\")\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct {
		env  string
		args []string
		want int
	}{{"", []string{"./..."}, 0}, {"1", []string{"./..."}, 1}, {"", []string{"-timeout=nonsense"}, 2}} {
		t.Setenv("FAIL_M", c.env)
		var out strings.Builder
		got, err := run(context.Background(), c.args, &out, &out)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("FAIL_M=%q go test %v: exit code %d; want %d", c.env, c.args, got, c.want)
		}
		if strings.HasSuffix(out.String(), " 0 failed, 0 skipped\n") != (c.want == 0) {
			t.Errorf("exit code %d after:\n%s", got, out.String())
		}
	}
}
