package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const three = web + "    replicas: 3\n"

// run runs a command and returns its code and outputs.
func run(t *testing.T, d *apitest.Daemon, e client.Exec) (code int, out, errOut string, err error) {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	var stdout, stderr bytes.Buffer
	if e.Service == "" {
		e.App, e.Service = "shop", "web"
	}
	if e.Stdout == nil {
		e.Stdout = &stdout
	}
	e.Stderr = &stderr
	code, err = c.Exec(t.Context(), e)
	return code, stdout.String(), stderr.String(), err
}

func TestExecPassesTheExitCodeAndBothOutputsOn(t *testing.T) {
	d := start(t, nil)
	apply(t, d, three)
	for _, c := range []struct {
		command           string
		code              int
		stdout, stderr, s string
	}{
		{command: "echo a b", stdout: "a b\n"},
		{command: "complain a b", stderr: "a b\n"},
		{command: "fail 0"},
		{command: "fail 1", code: 1},
		{command: "fail 255", code: 255},
	} {
		code, out, errOut, err := run(t, d, client.Exec{Replica: -1, Command: strings.Fields(c.command)})
		if err != nil || code != c.code || out != c.stdout || errOut != c.stderr {
			t.Errorf("%s: code %d, %q, %q, %v", c.command, code, out, errOut, err)
		}
	}
}

func TestExecRunsInTheReplicaNamed(t *testing.T) {
	d := start(t, nil)
	apply(t, d, three)
	for replica, want := range map[int]int{-1: 0, 0: 0, 2: 2} {
		_, out, _, err := run(t, d, client.Exec{Replica: replica, Command: []string{"where"}})
		if target := service(t, d, "web").Active.Targets[want].Container; err != nil || out != "id-"+target+"\n" {
			t.Errorf("replica %d: %q, %v, want %s", replica, out, err, target)
		}
	}
	for name, c := range map[string]struct {
		e    client.Exec
		kind wire.ProblemType
	}{
		"replica": {client.Exec{Replica: 3, Command: []string{"where"}}, wire.ProblemNotFound},
		"member":  {client.Exec{Replica: -1, Member: "cache", Command: []string{"where"}}, wire.ProblemNotFound},
		"service": {client.Exec{App: "shop", Service: "api", Replica: -1, Command: []string{"where"}}, wire.ProblemNotFound},
		"app":     {client.Exec{App: "blog", Service: "web", Replica: -1, Command: []string{"where"}}, wire.ProblemNotFound},
		"program": {client.Exec{Replica: -1, Command: []string{"sh"}}, wire.ProblemNoCommand},
		"nothing": {client.Exec{Replica: -1, Command: []string{}}, wire.ProblemInvalidRequest},
	} {
		if _, _, _, err := run(t, d, c.e); !client.IsProblem(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExecOfWhatDoesNotServeSaysSo(t *testing.T) {
	d := start(t, nil)
	d.Paper.Set("shop-web", apitest.Outcome{Fail: true, Reason: "ReadinessFailed"})
	apply(t, d, web)
	if _, _, _, err := run(t, d, client.Exec{Replica: -1, Command: []string{"where"}}); !client.IsProblem(err, wire.ProblemNotRunning) {
		t.Errorf("got %v", err)
	}
}

func TestExecPassesMuchInputThroughAndItsEnd(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // eight windows
	var back bytes.Buffer
	code, _, _, err := run(t, d, client.Exec{Replica: -1, Command: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: &back})
	if err != nil || code != 0 || !bytes.Equal(back.Bytes(), data) {
		t.Errorf("code %d, %d bytes of %d, %v", code, back.Len(), len(data), err)
	}
	if _, out, _, err := run(t, d, client.Exec{Replica: -1, Command: []string{"cat"}}); err != nil || out != "" {
		t.Errorf("without input: %q, %v", out, err)
	}
}

// gate lets writes through once it is open.
type gate struct {
	open chan struct{}
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.got.Write(p)
}

func TestASlowReaderOfTheOutputLosesNothingAndIsNotTakenForGone(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Heartbeat = 5 * time.Millisecond })
	apply(t, d, web)
	data := bytes.Repeat([]byte("x"), 1<<20)
	g := &gate{open: make(chan struct{})}
	time.AfterFunc(200*time.Millisecond, func() { close(g.open) }) // forty pings
	code, _, _, err := run(t, d, client.Exec{Replica: -1, Command: []string{"cat"}, Stdin: bytes.NewReader(data), Stdout: g})
	if err != nil || code != 0 || g.got.Len() != len(data) {
		t.Errorf("code %d, %d bytes, %v", code, g.got.Len(), err)
	}
}

func TestExecTellsTheSizeOfTheTerminal(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	sizes := make(chan client.Size, 1)
	sizes <- client.Size{Width: 80, Height: 24}
	out, in := io.Pipe()
	go func() {
		first := make([]byte, 64)
		n, _ := out.Read(first)
		if string(first[:n]) == "true 80x24\n" {
			sizes <- client.Size{Width: 100, Height: 30}
		}
		n, _ = out.Read(first)
		if string(first[:n]) != "true 100x30\n" {
			t.Errorf("then %q", first[:n])
		}
	}()
	if _, _, _, err := run(t, d, client.Exec{Replica: -1, TTY: true, Sizes: sizes, Command: []string{"size"}, Stdout: in}); err != nil {
		t.Error(err)
	}
}

func TestACommandThatIsGivenUpEnds(t *testing.T) {
	ended := make(chan error, 1)
	d := start(t, func(deps *api.Deps) { deps.Engine = watched{deps.Engine, ended} })
	apply(t, d, web)
	c := client.New(d.Socket)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := c.Exec(ctx, client.Exec{App: "shop", Service: "web", Replica: -1, Command: []string{"sleep"}, Stdout: io.Discard, Stderr: io.Discard})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the command goes on")
	}
}

func TestTheEndOfTheDaemonEndsCommandsAndSaysSo(t *testing.T) {
	ended := make(chan error, 1)
	d := start(t, func(deps *api.Deps) { deps.Engine = watched{deps.Engine, ended} })
	apply(t, d, web)
	c := client.New(d.Socket)
	defer c.Close()
	out, in := io.Pipe()
	go func() {
		_, _ = out.Read(make([]byte, 1))
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err := c.Exec(t.Context(), client.Exec{App: "shop", Service: "web", Replica: -1, Command: []string{"begin"}, Stdout: in, Stderr: io.Discard})
	if !client.IsProblem(err, wire.ProblemBusy) || !strings.Contains(err.Error(), "daemon ends") {
		t.Errorf("got %v", err)
	}
}

func TestTooManyCommandsAtOnceAreRefused(t *testing.T) {
	ended := make(chan error, 1)
	d := start(t, func(deps *api.Deps) { deps.MaxExecs, deps.Engine = 1, watched{deps.Engine, ended} })
	apply(t, d, web)
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c := client.New(d.Socket)
		defer c.Close()
		_, _ = c.Exec(ctx, client.Exec{App: "shop", Service: "web", Replica: -1, Command: []string{"begin"}, Stdout: in, Stderr: io.Discard})
	}()
	_, _ = out.Read(make([]byte, 1))
	if _, _, _, err := run(t, d, client.Exec{Replica: -1, Command: []string{"where"}}); !client.IsProblem(err, wire.ProblemBusy) {
		t.Errorf("got %v", err)
	}
	cancel()
	<-done
}
