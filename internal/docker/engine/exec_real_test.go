package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/engine"
)

// inside is a command of the probe program's steps.
func inside(steps ...string) docker.ExecSpec {
	return docker.ExecSpec{Command: append([]string{"/probe"}, steps...)}
}

func TestACommandThatClosedItsOutputsIsWaitedFor(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("quiet", "wait"))
	if code, err := r.Exec(r.ctx(), id, inside("close", "sleep:500ms", "exit:3")); code != 3 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
}

func TestACommandThatCannotBeExecutedIsInvalid(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("strict", "wait"))
	for what, e := range map[string]docker.ExecSpec{
		"a file that is no program":   {Command: []string{"/etc/hosts"}},
		"a user that does not exist":  {Command: []string{"/probe"}, User: "nobody-here"},
		"a directory that is missing": {Command: []string{"/probe"}, WorkingDir: "/none"},
	} {
		var out bytes.Buffer
		e.Stdout = &out
		if _, err := r.Exec(r.ctx(), id, e); !errors.Is(err, docker.ErrInvalid) || out.Len() > 0 {
			t.Errorf("%s: %v, output %q", what, err, out.String())
		}
	}
}

func TestCommandsOverlapAndLoseNothing(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("loud", "wait"))
	const size = 1_500_000
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			var out, errs bytes.Buffer
			e := inside(fmt.Sprint("long:", size), "err:end", "exit:9")
			e.Stdout, e.Stderr = &out, &errs
			code, err := r.Exec(r.ctx(), id, e)
			if code != 9 || err != nil || out.Len() != size+1 || errs.String() != "end\n" {
				t.Errorf("code %d, %v, %d bytes, stderr %q", code, err, out.Len(), errs.String())
			}
		})
	}
	wg.Wait()
}

// A command may last longer than any call, and goes over the client's own
// connections.
func TestACommandLastsAsLongAsItsContextOverADialer(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("patient", "wait"))
	c, err := engine.New(engine.Options{Host: "node-7", CallTimeout: 3 * time.Second, Dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", r.socket)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	in, feed := io.Pipe()
	defer feed.Close()
	e := inside("sleep:4s", "exit:6")
	e.Stdin = in
	if code, err := c.Exec(r.ctx(), id, e); code != 6 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
	ctx, cancel := context.WithTimeout(r.ctx(), time.Second)
	defer cancel()
	if _, err := c.Exec(ctx, id, inside("sleep:30s")); !errors.Is(err, context.DeadlineExceeded) || docker.IsUnavailable(err) {
		t.Errorf("past its deadline: %v", err)
	}
}
