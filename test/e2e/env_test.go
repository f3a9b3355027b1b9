package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// TestAnEnvValueArrivesAsItIs draws texts, writes all of them into one app
// file, each in one of the ways that YAML has, and reads them back from the
// program's environment.
func TestAnEnvValueArrivesAsItIs(t *testing.T) {
	t.Parallel()
	b := start(t)
	app := b.app("env")
	values := []string{
		"", " ", "  padded  ", "\n", "\r\n", "a\nb\n", "a\tb", "$HOME", "${HOME}", "$$", "%HOME%", "`id`", "$(id)", "'", `"`, `\`, `\n`, `a\`,
		"1.10", "007", "0x1f", "1_000", "1e3", "yes", "no", "true", "null", "~", "2026-01-01", "=", "a=b=c", "# no comment", "a # b", ": ", "- a",
		"{a: b}", "[a]", "*a", "&a", "!!str a", "| ", ">", "%", "@", "naïve", "e\u0301", "日本語", "🚢", "\U0010FFFF", "\u0085", "\u2028", "\u2029",
		"\ufeff", "\u200b", "\ufffd", "\x01", "\x1b[31m", "\x7f", "\u009f", strings.Repeat("x", 100_000),
	}
	any := rapid.StringOfN(rapid.OneOf(rapid.Rune(), rapid.RuneFrom(nil, unicode.Cc, unicode.Z, unicode.P)), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		if v := any.Draw(t, "value"); !strings.ContainsRune(v, 0) {
			values = append(values, v)
		}
	})
	var file strings.Builder
	file.WriteString(site(app, b.web("v1"), quickProbe) + "    env:\n")
	for i, v := range values {
		fmt.Fprintf(&file, "      V%d: %s\n", i, written(i, v))
	}
	b.apply(0, file.String())
	for i, want := range values {
		if got := b.get(app+".localhost", "/env?name="+url.QueryEscape(fmt.Sprintf("V%d", i))); got != want {
			t.Errorf("written %s: arrived as %q, want %q", written(i, want), got, want)
		}
	}
}

// written is a value in YAML, in a way that depends on n where there are several.
func written(n int, v string) string {
	plainly := strings.IndexFunc(v, func(r rune) bool { return !unicode.IsPrint(r) || r == '\ufeff' }) < 0
	switch {
	case n%3 == 0 && plainly:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case n%3 == 1 && plainly:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
	}
	var b strings.Builder
	for _, r := range v {
		fmt.Fprintf(&b, `\U%08X`, r)
	}
	return `"` + b.String() + `"`
}
