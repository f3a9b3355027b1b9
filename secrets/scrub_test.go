package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/secrets"
)

func scrubber(t testing.TB, values ...string) *secrets.Scrubber {
	t.Helper()
	var all []secrets.Secret
	for _, v := range values {
		all = append(all, secrets.NewSecretString(v))
	}
	s, err := secrets.NewScrubber(all...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScrubberReplacesValues(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []string
		text   string
		want   string
	}{
		{"alone", []string{"hunter2"}, "hunter2", "[redacted]"},
		{"within", []string{"hunter2"}, "password=hunter2;", "password=[redacted];"},
		{"twice", []string{"hunter2"}, "hunter2 hunter2", "[redacted] [redacted]"},
		{"after a false start", []string{"aab1"}, "aaab1", "a[redacted]"},
		{"two values", []string{"hunter2", "swordfish"}, "swordfish, hunter2", "[redacted], [redacted]"},
		{"one within the other", []string{"fish", "swordfish"}, "swordfish fish", "[redacted] [redacted]"},
		{"one the start of the other", []string{"sword", "swordfish"}, "swordfis swordfish", "[redacted]fis [redacted]"},
		{"overlapping", []string{"abcd", "cdef"}, "xabcdefx", "x[redacted]x"},
		{"nothing to find", []string{"hunter2"}, "hunter1 hunter", "hunter1 hunter"},
		{"no values", nil, "hunter2", "hunter2"},
		{"short ones stay", []string{"abc", ""}, "abc", "abc"},
		{"four bytes do not", []string{"abcd"}, "abcd", "[redacted]"},
		{"no text", []string{"hunter2"}, "", ""},
		{"white space around", []string{"hunter2\n"}, "is hunter2, says it", "is [redacted], says it"},
		{"NUL and bytes", []string{"\x00\xff\x00\xfe"}, "a\x00\xff\x00\xfeb", "a[redacted]b"},
		{"dollar", []string{`$x"y\`}, `say $x"y\!`, "say [redacted]!"},
	} {
		if got := scrubber(t, tc.values...).String(tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestScrubberFindsTheWaysAValueIsWritten(t *testing.T) {
	const value = "p@ss/w\"ord?>>~\nline <two> & é\x01"
	s := scrubber(t, value)
	asJSON, err := json.Marshal(map[string]string{"v": value})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", value)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", value)
	for name, text := range map[string]string{
		"JSON": string(asJSON), "logs": log.String(), "Go": fmt.Sprintf("%q %+q", value, value),
		"query": url.Values{"v": {value}}.Encode(), "path": url.PathEscape(value), "user": url.UserPassword("me", value).String(),
		"base64": base64.StdEncoding.EncodeToString([]byte(value)), "URL base64": base64.URLEncoding.EncodeToString([]byte(value)),
		"raw base64": base64.RawStdEncoding.EncodeToString([]byte(value)), "first line": `p@ss/w"ord?>>~`, "second line": "line <two> & é\x01",
	} {
		got := s.String(text)
		if !strings.Contains(got, "[redacted]") || strings.Contains(got, "ord") || strings.Contains(got, "two") || len(got) > 90+len("[redacted]")*4 && name != "logs" {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestScrubberFindsAValueWithinMoreBase64(t *testing.T) {
	s := scrubber(t, canary)
	for before := range 7 {
		for after := range 4 {
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				plain := strings.Repeat("u", before) + canary + strings.Repeat("~", after)
				got := s.String("Basic " + enc.EncodeToString([]byte(plain)))
				if !strings.Contains(got, "[redacted]") {
					t.Errorf("%d before, %d after: %q passes", before, after, got)
				}
				left, _ := enc.DecodeString(strings.ReplaceAll(strings.TrimPrefix(got, "Basic "), "[redacted]", ""))
				if strings.Contains(string(left), canary[4:12]) {
					t.Errorf("%d before, %d after: %q keeps the middle", before, after, got)
				}
			}
		}
	}
}

func TestScrubberFindsPartsOfALongValue(t *testing.T) {
	var key strings.Builder
	for i := range 60 {
		fmt.Fprintf(&key, "line %d of a long key, which is %x\n", i, i*i*7919)
	}
	long := strings.Repeat("0123456789abcdef", 500) + "end"
	s := scrubber(t, key.String(), long)
	if got := s.String("<" + long + ">"); got != "<[redacted]>" {
		t.Errorf("a long value became %.80q", got)
	}
	if got := s.String("<" + key.String() + ">"); strings.Contains(got, "line") {
		t.Errorf("a value of many lines became %.80q", got)
	}
	for line := range strings.Lines(key.String()) {
		if got := s.String("12:00 | " + line); got != "12:00 | [redacted]\n" {
			t.Errorf("a line became %q", got)
		}
	}
}

func TestScrubberOfTooManyValuesIsRefused(t *testing.T) {
	var many []secrets.Secret
	for i := range uint64(9000) {
		n := (i + 1) * 0x9e3779b97f4a7c15 // spread, so that no two begin alike
		many = append(many, secrets.NewSecretString(fmt.Sprintf("%016x%016x", n, n*n)))
	}
	if _, err := secrets.NewScrubber(many...); !errors.Is(err, secrets.ErrTooLarge) {
		t.Errorf("9000 values: %v", err)
	}
	if _, err := secrets.NewScrubber(many[:200]...); err != nil {
		t.Errorf("200 values: %v", err)
	}
	if _, err := secrets.Scrub(&bytes.Buffer{}, many...); !errors.Is(err, secrets.ErrTooLarge) {
		t.Errorf("Scrub: %v", err)
	}
}

func TestScrubWriterFindsValuesAcrossWrites(t *testing.T) {
	const text = "say hunter2 and hunt and aHVudGVyMg== hunter"
	s := scrubber(t, "hunter2")
	want := s.String(text)
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := s.Writer(&out)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Errorf("in writes of %d: %q, %v, want %q", size, out.String(), err, want)
		}
	}
}

func TestScrubWriterHoldsBackOnlyWhatMayBeAValue(t *testing.T) {
	var out bytes.Buffer
	w, err := secrets.Scrub(&out, secrets.NewSecretString("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ write, want string }{
		{"a line\n", "a line\n"}, {"hunt", ""}, {"ing\n", "hunting\n"}, {"hunter", ""}, {"2", ""}, {"\n", "[redacted]\n"}, {"x hu", "x "},
	} {
		out.Reset()
		if _, err := w.Write([]byte(step.write)); err != nil || out.String() != step.want {
			t.Errorf("after %q: %q, %v, want %q", step.write, out.String(), err, step.want)
		}
	}
	out.Reset()
	if err := w.Close(); err != nil || out.String() != "hu" {
		t.Errorf("at the end: %q, %v", out.String(), err)
	}
	out.Reset()
	if _, err := w.Write([]byte("nter2 again\n")); err != nil || out.String() != "nter2 again\n" {
		t.Errorf("the next text begins within the last: %q, %v", out.String(), err)
	}
}

// broken fails from some write on, or writes short.
type broken struct {
	ok    int
	short bool
}

var errPipe = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if b.ok--; b.ok >= 0 {
		return len(p), nil
	}
	if b.short {
		return len(p) - 1, nil
	}
	return 0, errPipe
}

func TestScrubWriterTellsTheErrorOfItsWriter(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 100<<10)
	for _, b := range []*broken{{}, {ok: 1}, {short: true}} {
		ok := b.ok
		w := scrubber(t, "hunter2").Writer(b)
		n, err := w.Write(big)
		if err == nil || n != ok*(32<<10) {
			t.Errorf("wrote %d, %v", n, err)
		}
		if _, again := w.Write([]byte("more")); !errors.Is(again, err) || !errors.Is(w.Close(), err) {
			t.Errorf("the error is forgotten: %v", again)
		}
	}
}

func TestScrubWriterIsSharedByManyWriters(t *testing.T) {
	var out bytes.Buffer
	w := scrubber(t, "hunter2").Writer(&out)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if _, err := w.Write([]byte("a hunter2 line\n")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := strings.Count(out.String(), "a [redacted] line\n"); got != 800 || strings.Contains(out.String(), "hunter2") {
		t.Errorf("%d of 800 lines came through whole", got)
	}
}

// TestScrubberAgreesWithAPlainSearch uses two letters, so that values overlap in
// every way and none is found in another form.
func TestScrubberAgreesWithAPlainSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ab]{4,9}`), 0, 5).Draw(t, "values")
		writes := rapid.SliceOfN(rapid.StringMatching(`[ab.]{0,12}`), 0, 8).Draw(t, "writes")
		var all []secrets.Secret
		for _, v := range values {
			all = append(all, secrets.NewSecretString(v))
		}
		var out bytes.Buffer
		w, err := secrets.Scrub(&out, all...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range writes {
			if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if want := plainScrub(strings.Join(writes, ""), values); out.String() != want {
			t.Fatalf("got %q, want %q", out.String(), want)
		}
	})
}

func plainScrub(text string, values []string) string {
	hide := make([]bool, len(text))
	for _, v := range values {
		for i := range text {
			if strings.HasPrefix(text[i:], v) {
				for j := range v {
					hide[i+j] = true
				}
			}
		}
	}
	var out strings.Builder
	for i := range text {
		if !hide[i] {
			out.WriteByte(text[i])
		} else if i == 0 || !hide[i-1] {
			out.WriteString("[redacted]")
		}
	}
	return out.String()
}

func FuzzScrub(f *testing.F) {
	f.Add("hunter2", "say hunter2", uint8(3))
	f.Add("a\nlonger line\n", "longer line", uint8(0))
	f.Add("\x00\xff\"<>&", `"\u0000�\"\u003c\u003e\u0026"`, uint8(1))
	f.Fuzz(func(t *testing.T, value, text string, size uint8) {
		s, err := secrets.NewScrubber(secrets.NewSecretString(value))
		if err != nil {
			t.Skip("too large to scrub")
		}
		joined := text + value + text
		var out bytes.Buffer
		w := s.Writer(&out)
		step := int(size) + 1
		for rest := joined; rest != ""; rest = rest[min(step, len(rest)):] {
			_, _ = w.Write([]byte(rest[:min(step, len(rest))]))
		}
		_ = w.Close()
		if out.String() != s.String(joined) {
			t.Fatalf("in writes of %d: %q, at once %q", step, out.String(), s.String(joined))
		}
		if len(value) >= 4 && len(value) <= 16<<10 && !strings.Contains(out.String(), secrets.Redacted) {
			t.Fatalf("%q passes in %q", value, out.String())
		}
	})
}

func ExampleScrub() {
	var log strings.Builder
	w, err := secrets.Scrub(&log, secrets.NewSecretString("hunter2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprint(w, "connecting as admin:hun")
	fmt.Fprint(w, "ter2 (Basic YWRtaW46aHVudGVyMg==)")
	_ = w.Close()
	fmt.Println(log.String())
	// Output: connecting as admin:[redacted] (Basic YWRtaW46[redacted])
}
