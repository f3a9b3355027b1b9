package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptUntil is `[!] until TEXT COMMAND…`: the command is repeated until its
// output has the text, or has it no more.
func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] until TEXT COMMAND...")
	}
	ts.Check(comes(settleTime, fmt.Sprintf("%s says %q: %t", strings.Join(args[1:], " "), args[0], !neg), func(context.Context) error {
		err := ts.Exec(args[1], args[2:]...)
		if out := ts.ReadFile("stdout") + ts.ReadFile("stderr"); strings.Contains(out, args[0]) == neg {
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return errors.New(out)
		}
		return nil
	}))
}

// scriptSecret is `secret VALUE ARG…`: the command line of `berth secret` with a
// value as its input, which must work and not show it.
func (b *berth) scriptSecret(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: secret VALUE ARG...")
	}
	out := b.run(args[0], append([]string{"secret"}, args[1:]...)...)
	ts.Logf("%s", out.text)
	if out.code != 0 || strings.Contains(out.text, args[0]) {
		ts.Fatalf("berth secret %s ended with %d", strings.Join(args[1:], " "), out.code)
	}
}

// scriptNowhere is `nowhere APP VALUE…`: no answer about the app, no log and no
// file of Berth has one of the values, and no label of a container has.
func (b *berth) scriptNowhere(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: nowhere APP VALUE...")
	}
	app := args[0]
	seen := map[string]string{"the daemon's log": b.log.String()}
	for _, command := range [][]string{
		{"status", app}, {"status", app, "-o", "json"}, {"ps", app, "-o", "json"}, {"releases", app + "/web", "-o", "json"},
		{"secret", "list", app, "-o", "json"}, {"logs", app}, {"restart", app, "--dry-run", "-o", "json"},
	} {
		seen["berth "+strings.Join(command, " ")] = b.want(0, "", command...).text
	}
	for _, c := range b.engine.containers(b.instance, app) {
		seen["the labels of "+c.ID] = fmt.Sprint(c.Labels)
	}
	ts.Check(filepath.WalkDir(b.dataDir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		seen[path] = string(data)
		return err
	}))
	for where, text := range seen {
		for _, value := range args[1:] {
			if bytes.Contains([]byte(text), []byte(value)) {
				ts.Fatalf("%s has %q", where, value)
			}
		}
	}
	if len(seen) < 10 {
		ts.Fatalf("looked at %d places alone", len(seen))
	}
}

// scriptLoad is `load HOST`: requests go there until `unload VERSION…`, which
// fails for every one that failed, and unless the answers came from those
// versions.
func (b *berth) scriptLoad(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 || b.unload != nil {
		ts.Fatalf("usage: load HOST, once before each unload")
	}
	b.unload = b.traffic(args[0])
}

func (b *berth) scriptUnload(ts *testscript.TestScript, _ bool, args []string) {
	if b.unload == nil {
		ts.Fatalf("usage: unload VERSION..., after a load")
	}
	got := b.unload()
	b.unload = nil
	if strings.Join(got, " ") != strings.Join(args, " ") {
		ts.Fatalf("answers came from %q, want %q", got, args)
	}
}
