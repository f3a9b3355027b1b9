package providertest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var needExec = []provider.Capability{provider.CapProvision, provider.CapExec}

// execCases are about Exec.
var execCases = []Case{
	{Name: "Exec/ExitCode", Needs: needExec, run: execExitCode},
	{Name: "Exec/Streams", Needs: needExec, run: execStreams},
	{Name: "Exec/Stdin", Needs: needExec, run: execStdin},
	{Name: "Exec/TTY", Needs: needExec, run: execTTY},
	{Name: "Exec/ByService", Needs: needExec, run: execByService},
	{Name: "Exec/MissingCommand", Needs: needExec, run: execMissing},
	{Name: "Exec/Environment", Needs: needExec, run: execEnvironment},
	{Name: "Exec/OutputBound", Needs: needExec, run: execBound},
	{Name: "Exec/FailingWriter", Needs: needExec, run: execFailingWriter},
	{Name: "Exec/NotRunning", Needs: needExec, run: execNotRunning},
	{Name: "Exec/Unknown", Needs: needExec, run: execUnknown},
}

// command is a command line of the program.
func (e *env) command(steps ...string) []string { return append([]string{e.Images.Program}, steps...) }

// exec is an Exec that must run to its end.
func (e *env) exec(instance id.ID, req provider.ExecRequest) *provider.ExecResult {
	e.Helper()
	res, err := e.Provider.Exec(e.ctx, instance, req)
	e.must(err, "Exec")
	if res == nil {
		e.Fatalf("Exec returned neither a result nor an error")
	}
	return res
}

// execOK is an Exec whose command must succeed.
func (e *env) execOK(instance id.ID, req provider.ExecRequest) string {
	e.Helper()
	res := e.exec(instance, req)
	if res.ExitCode != 0 {
		e.Fatalf("%q ended with %d: %s%s", req.Command, res.ExitCode, res.Stdout, res.Stderr)
	}
	return string(res.Stdout)
}

func execExitCode(e *env) {
	req := e.request()
	e.running(req)
	for _, code := range []int{0, 1, 42} {
		res := e.exec(req.InstanceID, provider.ExecRequest{Command: e.command("exit:" + digits(code))})
		if res.ExitCode != code {
			e.Errorf("a command that ends with %d has the exit code %d", code, res.ExitCode)
		}
	}
}

func execStreams(e *env) {
	req := e.request()
	e.running(req)
	res := e.exec(req.InstanceID, provider.ExecRequest{Command: e.command("out:to standard output", "err:to standard error")})
	if got := string(res.Stdout); got != "to standard output\n" {
		e.Errorf("standard output is %q", got)
	}
	if got := string(res.Stderr); got != "to standard error\n" {
		e.Errorf("standard error is %q", got)
	}
	var out bytes.Buffer
	res = e.exec(req.InstanceID, provider.ExecRequest{Command: e.command("out:written", "err:kept"), Stdout: &out})
	if out.String() != "written\n" || len(res.Stdout) != 0 || string(res.Stderr) != "kept\n" {
		e.Errorf("with a writer it gets %q, and the result has %q and %q", out.String(), res.Stdout, res.Stderr)
	}
}

func execStdin(e *env) {
	req := e.request()
	e.running(req)
	text := strings.Repeat("a line of input\n", 10000)
	if got := e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("cat"), Stdin: strings.NewReader(text)}); got != text {
		e.Errorf("of %d bytes of input %d came back", len(text), len(got))
	}
	if got := e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("cat", "out:end")}); got != "end\n" {
		e.Errorf("without an input the command read %q", got)
	}
}

func execTTY(e *env) {
	req := e.request()
	e.running(req)
	if got := e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("tty")}); strings.TrimSpace(got) != "none" {
		e.Errorf("a command without a terminal has one of %q", got)
	}
	sizes := make(chan provider.TerminalSize, 1)
	sizes <- provider.TerminalSize{Cols: 132, Rows: 50}
	res := e.exec(req.InstanceID, provider.ExecRequest{
		Command: e.command("out:on the terminal", "err:both", "resized:132x50"), TTY: true,
		Size: &provider.TerminalSize{Cols: 80, Rows: 24}, Resize: sizes,
	})
	said := strings.ReplaceAll(string(res.Stdout), "\r", "")
	if res.ExitCode != 0 || len(res.Stderr) != 0 || said != "on the terminal\nboth\n132x50\n" {
		e.Errorf("with a terminal the command ended with %d and said %q and %q", res.ExitCode, said, res.Stderr)
	}
}

func execByService(e *env) {
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Env = map[string]string{"ROLE": "sidecar"}
	main := times(e.web("web", provider.RoleMain, port), 2)
	main.Env = map[string]string{"ROLE": "main"}
	req := e.request(side, main)
	e.running(req)
	for service, want := range map[string]string{"": "main", "web": "main", "side": "sidecar"} {
		if got := strings.TrimSpace(e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("env:ROLE"), ServiceName: service})); got != want {
			e.Errorf("a command for the service %q runs in %s", service, got)
		}
	}
	for i := range 2 {
		want := e.do(req.InstanceID, "web", i, "hostname")
		if got := strings.TrimSpace(e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("hostname"), Replica: ptr(i)})); got != want {
			e.Errorf("a command for replica %d runs on %s, which is %s", i, got, want)
		}
	}
}

func execMissing(e *env) {
	req := e.request()
	e.running(req)
	res := e.exec(req.InstanceID, provider.ExecRequest{Command: []string{"/no/such/program"}})
	if res.ExitCode != provider.ExitNotFound {
		e.Errorf("a command that does not exist has the exit code %d", res.ExitCode)
	}
	_, err := e.Provider.Exec(e.ctx, req.InstanceID, provider.ExecRequest{})
	e.want(err, provider.ErrInvalid, "Exec of no command")
}

func execEnvironment(e *env) {
	req := e.request()
	req.Services[0].Env = map[string]string{"COLOUR": "red", "SIZE": "large"}
	e.running(req)
	got := e.execOK(req.InstanceID, provider.ExecRequest{
		Command: e.command("env:COLOUR", "env:SIZE", "env:VERSION", "user", "pwd", "tty"),
		Env:     map[string]string{"COLOUR": "blue"}, User: "1234:1234", WorkingDir: "/tmp",
	})
	if want := "blue\nlarge\n1\n1234:1234\n/tmp\nnone\n"; got != want {
		e.Errorf("the command sees %q, want %q", got, want)
	}
}

func execBound(e *env) {
	req := e.request()
	e.running(req)
	const more = provider.MaxExecOutput + 1000
	res := e.exec(req.InstanceID, provider.ExecRequest{Command: e.command("long:"+digits(more), "err:end")})
	if len(res.Stdout) != provider.MaxExecOutput || !res.Truncated || res.ExitCode != 0 || string(res.Stderr) != "end\n" {
		e.Errorf("of %d bytes the result has %d, truncated %t, exit code %d, and %q", more, len(res.Stdout), res.Truncated, res.ExitCode, res.Stderr)
	}
	if res := e.exec(req.InstanceID, provider.ExecRequest{Command: e.command("out:short")}); res.Truncated {
		e.Errorf("a short output is truncated")
	}
}

var errFull = errors.New("the writer is full")

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

func execFailingWriter(e *env) {
	req := e.request()
	e.running(req)
	err := e.within(10*time.Second, func(ctx context.Context) error {
		_, err := e.Provider.Exec(ctx, req.InstanceID, provider.ExecRequest{Command: e.command("out:hello", "sleep:1h"), Stdout: fullWriter{}})
		return err
	})
	if err == nil {
		e.Errorf("Exec succeeded with a writer that failed")
	}
}

func execNotRunning(e *env) {
	req := e.request(e.task("prepare", provider.RoleInit), e.web("web", provider.RoleMain, port))
	e.running(req)
	if res, err := e.Provider.Exec(e.ctx, req.InstanceID, provider.ExecRequest{Command: e.command("out:hello"), ServiceName: "prepare"}); err == nil {
		e.Errorf("Exec in an init that has ended returned %+v", res)
	}
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	if res, err := e.Provider.Exec(e.ctx, req.InstanceID, provider.ExecRequest{Command: e.command("out:hello")}); err == nil {
		e.Errorf("Exec in a stopped instance returned %+v", res)
	}
}

func execUnknown(e *env) {
	req := e.request()
	e.running(req)
	for what, r := range map[string]provider.ExecRequest{"service": {ServiceName: "nobody"}, "replica": {Replica: ptr(7)}} {
		r.Command = e.command("out:hello")
		_, err := e.Provider.Exec(e.ctx, req.InstanceID, r)
		e.want(err, provider.ErrNotFound, "Exec in a "+what+" that is not there")
	}
}
