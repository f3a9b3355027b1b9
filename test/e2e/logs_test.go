package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLogsGoOnOverReleases(t *testing.T) {
	t.Parallel()
	b := start(t)
	app := b.app("logs")
	host := app + ".localhost"
	b.apply(0, site(app, b.web("v1"), quickProbe))
	b.say(host, "one from the first")
	b.apply(0, site(app, b.web("v2"), quickProbe))
	b.eventually(settleTime, "the first container is gone", func(context.Context) error {
		if now := b.names(app); len(now) != 1 {
			return fmt.Errorf("%q", now)
		}
		return nil
	})
	b.say(host, "two from the second") // not before the first one's last words
	inOrder(t, b.want(0, "", "logs", app).text, "web.0 v1 | one from the first", "web.0 v1 | web: v1 stops", "web.0 v2 | two from the second")
	inOrder(t, b.want(0, "", "logs", app+"/web", "--raw", "--tail", "1").text, "two from the second")

	follow := b.follow(app)
	follow.expect("web.0 v2 | two from the second")
	b.apply(0, site(app, b.web("v3"), quickProbe))
	b.say(host, "three from the third")
	follow.expect("web.0 v3 | three from the third")
	follow.expect("web.0 v2 | web: v2 stops")
	text := follow.stop()
	if n := strings.Count(text, "two from the second"); n != 1 {
		t.Errorf("a line came %d times:\n%s", n, text)
	}

	// A failed change's container is gone too, and what it printed is not.
	b.apply(1, site(app, b.web("v4"), quickProbe+"    env: {MODE: exit}\n"))
	b.eventually(settleTime, "the failed container's lines are kept", func(context.Context) error {
		if out := b.run("", "logs", app+"/web"); !strings.Contains(out.text, "web.0 v4 | web: giving up with code 1") {
			return errors.New(out.text)
		}
		return nil
	})
}

// say makes the app print a line.
func (b *berth) say(host, line string) {
	b.t.Helper()
	if code, body, err := b.request(b.t.Context(), http.MethodPost, host, "/log", line+"\n"); err != nil || code != http.StatusOK {
		b.t.Fatalf("print a line: %d %s %v", code, body, err)
	}
}

// inOrder expects texts one after the other.
func inOrder(t *testing.T, all string, texts ...string) {
	t.Helper()
	rest := all
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Errorf("no %q, or not where it should be, in:\n%s", text, all)
			return
		}
		rest = after
	}
}

// following is a `berth logs -f` that goes on.
type following struct {
	b   *berth
	cmd *exec.Cmd
	out lockedBuffer
}

func (b *berth) follow(app string) *following {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	f := &following{b: b, cmd: exec.CommandContext(ctx, filepath.Join(b.bin, "berth"), "logs", "-f", app)}
	f.cmd.Env = []string{"BERTH_SOCKET=" + b.socket()}
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.out
	f.cmd.WaitDelay = time.Second
	if err := f.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cancel(); _ = f.cmd.Wait() })
	return f
}

func (f *following) expect(text string) {
	f.b.t.Helper()
	f.b.eventually(settleTime, "the line "+text, func(context.Context) error {
		if !strings.Contains(f.out.String(), text) {
			return errors.New(f.out.String())
		}
		return nil
	})
}

// stop ends it as Ctrl-C does, and returns all it printed.
func (f *following) stop() string {
	f.b.t.Helper()
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		f.b.t.Fatal(err)
	}
	if err := f.cmd.Wait(); err != nil {
		f.b.t.Errorf("berth logs -f ended with %v after Ctrl-C:\n%s", err, &f.out)
	}
	return f.out.String()
}
