package flaglist

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestAListIsSeparatedByCommas(t *testing.T) {
	for given, want := range map[string][]string{
		"":              nil,
		" , ":           nil,
		":80":           {":80"},
		":80, [::1]:81": {":80", "[::1]:81"},
		"a,,b,":         {"a", "b"},
	} {
		l := []string{"default"}
		f := flag.NewFlagSet("", flag.ContinueOnError)
		f.Var((*List)(&l), "list", "")
		if err := f.Parse([]string{"--list", given}); err != nil || !slices.Equal(l, want) {
			t.Errorf("%q gives %q, %v; want %q", given, l, err, want)
		}
	}
}

func TestAListThatIsNotGivenKeepsItsDefaultAndHelpShowsIt(t *testing.T) {
	l := []string{":80", ":81"}
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.Var((*List)(&l), "list", "some `values`")
	var help strings.Builder
	f.SetOutput(&help)
	f.PrintDefaults()
	if err := f.Parse(nil); err != nil || len(l) != 2 || !strings.Contains(help.String(), ":80,:81") {
		t.Errorf("%q, %v; help %q", l, err, help.String())
	}
}
