package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryFlagIsInTheReference(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/daemons.md")
	if err != nil {
		t.Fatal(err)
	}
	for command, least := range map[string]int{"server": 10, "backend": 3} {
		var help bytes.Buffer
		if code := run([]string{command, "-h"}, &help, &help); code != 0 {
			t.Fatalf("code %d: %s", code, help.String())
		}
		_, section, _ := strings.Cut(string(page), "\n## berthd "+command+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		flags := regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(help.String(), -1)
		if len(flags) < least {
			t.Fatalf("%d flags in %s", len(flags), help.String())
		}
		for _, f := range flags {
			if !strings.Contains(section, "| `--"+f[1]+"` |") {
				t.Errorf("docs/reference/daemons.md does not have --%s of %s", f[1], command)
			}
		}
	}
}

func TestTheHelpSaysWhatTheFirewallAloneNeeds(t *testing.T) {
	var help bytes.Buffer
	if code := run([]string{"backend", "-h"}, &help, &help); code != 0 || !strings.Contains(help.String(), "it needs the data directory for itself") {
		t.Errorf("code %d: %s", code, help.String())
	}
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "berthd server [flags]"},
		{[]string{"serve"}, 2, `"serve" is not a command`},
		{[]string{"server", "now"}, 2, `unexpected argument "now"`},
		{[]string{"server", "--network-pool", "10.1.0.0"}, 2, `"10.1.0.0" is not a prefix such as`},
		{[]string{"server", "--nope"}, 2, "-nope"},
		{[]string{"server", "--data-dir", "", "--socket", "/nowhere/berth.sock"}, 1, "a data directory and a socket are needed"},
		{[]string{"backend", "now"}, 2, `unexpected argument "now"`},
		{[]string{"backend", "--config", "/nowhere/backend.yaml", "--data-dir", "/nowhere"}, 1, "or name another with --config"},
		{[]string{"version"}, 0, "berthd dev"},
		{[]string{"help"}, 0, "berthd server [flags]"},
	} {
		var out bytes.Buffer
		if code := run(c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: code %d, %q", c.args, code, out.String())
		}
	}
}
