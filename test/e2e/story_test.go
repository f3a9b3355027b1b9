package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/berth-cloud/berth/internal/reconcile/application"
)

// TestStories runs what a user types, in testdata/*.txtar, each on a Berth of
// its own.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel() // stories wait more than they do
			tell(t, file)
		})
	}
}

func tell(t *testing.T, file string) {
	b := start(t)
	testscript.Run(t, testscript.Params{
		Files:               []string{file},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", b.bin)
			env.Setenv("BERTH_SOCKET", b.socket())
			env.Setenv("WEB1", b.web("v1"))
			env.Setenv("WEB2", b.web("v2"))
			env.Setenv("WEB3", b.web("v3"))
			env.Setenv("PROBE", b.engine.probe())
			env.Setenv("APP", b.app("notes"))
			env.Setenv("VOLUME", application.VolumeName(b.prefix, b.app("notes"), "data"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until":   scriptUntil,
			"secret":  b.scriptSecret,
			"nowhere": b.scriptNowhere,
			"load":    b.scriptLoad,
			"unload":  b.scriptUnload,
			"expand":  expand,
			"get":     b.scriptGet,
			"put":     b.scriptPut,
			"code":    wantCode,
			"running": b.scriptRunning,
			"volumes": b.scriptVolumes,
			"nothing": b.scriptNothing,
		},
	})
}

// expand is `expand FILE…`: variables in files are replaced.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// scriptGet is `get HOST/PATH TEXT`: the answer is 200 and TEXT is in it.
func (b *berth) scriptGet(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] get HOST/PATH TEXT")
	}
	code, body := b.ask(ts, http.MethodGet, args[0], "")
	if ok := code == http.StatusOK && strings.Contains(body, args[1]); ok == neg {
		ts.Fatalf("GET %s: status %d: %s", args[0], code, body)
	}
}

// scriptPut is `put HOST/PATH TEXT`.
func (b *berth) scriptPut(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: put HOST/PATH TEXT")
	}
	if code, body := b.ask(ts, http.MethodPut, args[0], args[1]); code != http.StatusOK {
		ts.Fatalf("PUT %s: status %d: %s", args[0], code, body)
	}
}

func (b *berth) ask(ts *testscript.TestScript, method, url, body string) (int, string) {
	host, path, _ := strings.Cut(url, "/")
	code, answer, err := b.request(b.t.Context(), method, host, "/"+path, body)
	ts.Check(err)
	return code, answer
}

// wantCode is `code N COMMAND…`: the command ends with that exit code.
func wantCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, not exit code %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// scriptRunning is `running APP N`: the engine has N containers of the app, and
// all of them run.
func (b *berth) scriptRunning(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: running APP N")
	}
	ts.Check(comes(settleTime, args[1]+" containers of "+args[0]+" run and no other is there", func(context.Context) error {
		var names []string
		for _, c := range b.engine.containers(b.instance, args[0]) {
			names = append(names, strings.Join(c.Names, " ")+" "+string(c.State))
		}
		rests := func(name string) bool { return !strings.HasSuffix(name, " running") }
		if fmt.Sprint(len(names)) != args[1] || slices.ContainsFunc(names, rests) {
			return fmt.Errorf("there are %q", names)
		}
		return nil
	}))
}

// scriptVolumes is `volumes NAME…`: those volumes are there, and no other.
func (b *berth) scriptVolumes(ts *testscript.TestScript, _ bool, args []string) {
	if got := b.engine.volumes(b.instance); !slices.Equal(got, args) {
		ts.Fatalf("volumes %q, want %q", got, args)
	}
}

// scriptNothing is `nothing`: no container and no network is left.
func (b *berth) scriptNothing(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(comes(settleTime, "nothing is left", b.empty))
}

// leavesNothing waits until no container and no network of this Berth is there.
func (b *berth) leavesNothing() {
	b.t.Helper()
	b.eventually(settleTime, "nothing is left", b.empty)
}

func (b *berth) empty(context.Context) error {
	containers, networks := b.engine.containers(b.instance, ""), b.engine.networks(b.instance)
	if len(containers)+len(networks) > 0 {
		return fmt.Errorf("containers %+v, networks %q", containers, networks)
	}
	return nil
}
