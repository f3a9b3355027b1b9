package cli_test

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/cli"
	"github.com/berth-cloud/berth/internal/wire"
)

// now is the command line's clock: a while after everything happened.
func now() time.Time { return apitest.Epoch.Add(5 * time.Minute) }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"berth": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		tty := os.Getenv("TEST_TTY") != ""
		os.Exit(cli.Run(ctx, os.Args[1:], cli.Env{
			Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, StdinTTY: tty, StdoutTTY: tty,
			NoColor: os.Getenv("NO_COLOR") != "", Socket: os.Getenv("BERTH_SOCKET"), BackendSocket: os.Getenv("BERTH_BACKEND_SOCKET"), Version: "0.1.0-test", Now: now,
		}))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			nodes := apitest.NewNodes()
			d, err := apitest.Start(func(deps *api.Deps) {
				deps.Nodes = nodes
				deps.Doctor = func(context.Context) []wire.Check {
					return []wire.Check{{Name: "engine", State: wire.CheckWarning, Message: "live-restore is off", Fix: "Set \"live-restore\": true in /etc/docker/daemon.json."}}
				}
				deps.Logs = someLogs{}
			})
			if err != nil {
				return err
			}
			env.Defer(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			env.Values["daemon"], env.Values["nodes"] = d, nodes
			env.Setenv("BERTH_SOCKET", d.Socket)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"outcome": setOutcome,
			"code":    wantCode,
			"nodes":   setNodes,
			"waitstream": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(ts.Value("daemon").(*apitest.Daemon).AwaitStream())
			},
		},
	})
}

// setOutcome is `outcome SERVICE ok|hold|fail [REASON FILE]`.
func setOutcome(ts *testscript.TestScript, _ bool, args []string) {
	d := ts.Value("daemon").(*apitest.Daemon)
	var o apitest.Outcome
	switch {
	case len(args) == 2 && args[1] == "ok":
		d.Paper.Set(args[0], o)
	case len(args) == 2 && args[1] == "hold":
		o.Hold = true
		d.Paper.Set(args[0], o)
	case len(args) == 4 && args[1] == "fail":
		o.Fail, o.Reason, o.Message = true, args[2], strings.TrimSpace(ts.ReadFile(args[3]))
		d.Paper.Set(args[0], o)
	default:
		ts.Fatalf("usage: outcome SERVICE ok|hold|fail [REASON FILE]")
	}
}

// setNodes is `nodes keep|move`, or `nodes break HOP`.
func setNodes(ts *testscript.TestScript, _ bool, args []string) {
	nodes := ts.Value("nodes").(*apitest.Nodes)
	switch {
	case len(args) == 1 && args[0] == "keep":
		nodes.Keep(true)
	case len(args) == 1 && args[0] == "move":
		nodes.Keep(false)
	case len(args) == 2 && args[0] == "break":
		nodes.Break(args[1])
	default:
		ts.Fatalf("usage: nodes keep|move, or nodes break HOP")
	}
}

// wantCode is `code N COMMAND…`: the command must end with that exit code.
func wantCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %s, not exit code %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// someLogs answers every query with the same two lines of a main container.
type someLogs struct{}

func (someLogs) Logs(ctx context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	for i, text := range []string{"listening on :8080", "\x1b[2Jhello"} {
		if !q.Wants("web", "") {
			continue
		}
		err := fn(wire.LogEntry{
			Time: apitest.Epoch.Add(time.Duration(i) * time.Second), Service: "web", Release: "v1", Replica: i,
			Container: "shop-web", Stream: "stdout", Text: text,
		})
		if err != nil {
			return err
		}
	}
	if q.Follow {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}
