package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/wire/execwire"
)

const (
	// execStartTimeout bounds the wait for the frame that says what to run.
	execStartTimeout = 10 * time.Second
	// pongTimeout is how long the other side may take to answer a ping. Both
	// sides read all the time, so one that does not answer is gone.
	pongTimeout = 30 * time.Second
	// frameTimeout bounds the write of one frame.
	frameTimeout = 30 * time.Second
)

// maxExecCommand bounds the words of a command.
const maxExecCommand = 1000

var (
	errPeerLeft   = errors.New("the caller went away")
	errDaemonEnds = errors.New("the daemon ends")
)

// execSession is one command, seen from the daemon.
type execSession struct {
	conn    *websocket.Conn
	ctx     context.Context         // of the connection
	cancel  context.CancelCauseFunc // gives the command up
	stdin   *execwire.Inbox
	output  *execwire.Allowance
	resizes chan docker.TermSize // holds the newest one
}

// runExec speaks with a caller until the command has ended, the caller has left,
// or the daemon ends.
func (s *Server) runExec(ctx context.Context, conn *websocket.Conn, run execRun) {
	// A read or write whose context ends takes the connection along. The command
	// has one of its own, so that its end can still be told.
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	command, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer func() { _ = conn.CloseNow() }()
	x := &execSession{
		conn: conn, ctx: ctx, cancel: cancel, stdin: execwire.NewInbox(), output: execwire.NewAllowance(), resizes: make(chan docker.TermSize, 1),
	}
	start, err := x.start()
	if err != nil {
		s.log.DebugContext(ctx, "an exec did not begin", "error", err)
		_ = conn.Close(websocket.StatusPolicyViolation, "the first frame says what to run")
		return
	}
	var wg sync.WaitGroup
	wg.Go(x.receive)
	wg.Go(func() { x.ping(s.deps.Heartbeat) })
	wg.Go(func() {
		select {
		case <-s.closing:
			cancel(errDaemonEnds)
		case <-ctx.Done():
		}
	})
	report := run(command, x, start)
	if err := x.send(execwire.Exit, report); err == nil {
		// Returns once the caller has closed its side, or after a few seconds.
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}
	hangUp()
	wg.Wait()
}

// carryOutExec runs the command and says how it ended.
func (s *Server) carryOutExec(ctx context.Context, x *execSession, target wire.Container, start execwire.StartRequest) execwire.ExitReport {
	peer, _ := PeerFrom(ctx)
	log := s.log.With("app", target.App, "service", target.Service, "container", target.Name, "uid", peer.UID)
	log.InfoContext(ctx, "exec begins", "tty", start.TTY)
	if p := checkCommand(start.Command); p != nil {
		return execwire.ExitReport{Problem: p}
	}
	spec := docker.ExecSpec{
		Command: start.Command, TTY: start.TTY, Resize: x.resizes,
		Stdout: x.printer(ctx, execwire.Stdout), Stderr: x.printer(ctx, execwire.Stderr),
	}
	if start.TTY && start.Width > 0 && start.Height > 0 {
		x.resize(docker.TermSize{Width: start.Width, Height: start.Height})
	}
	if start.Stdin {
		spec.Stdin = x.input(ctx)
	}
	code, err := s.deps.Engine.Exec(ctx, target.ID, spec)
	if err != nil {
		log.InfoContext(ctx, "exec failed", "error", err)
		return execwire.ExitReport{Problem: s.execProblem(ctx, target, err)}
	}
	log.InfoContext(ctx, "exec ended", "code", code)
	return execwire.ExitReport{Code: code}
}

// checkCommand refuses what is no command.
func checkCommand(words []string) *wire.Problem {
	if len(words) == 0 || len(words) > maxExecCommand || words[0] == "" {
		return invalidRequest(fmt.Sprintf("a command has 1 to %d words", maxExecCommand), "Say what to run.")
	}
	return nil
}

// input is what the caller sends to the command.
func (x *execSession) input(ctx context.Context) io.Reader {
	return x.stdin.Reader(ctx, func(n int) { _ = x.write(execwire.CreditFrame(n)) })
}

// printer sends an output of the command.
func (x *execSession) printer(ctx context.Context, kind execwire.Kind) io.Writer {
	return &outputWriter{ctx: ctx, session: x, kind: kind}
}

// execProblem words what kept a command from running. The engine's own text may
// quote the command, and goes to the caller alone.
func (s *Server) execProblem(ctx context.Context, target wire.Container, err error) *wire.Problem {
	where := fmt.Sprintf("the container %s of %s/%s", target.Name, target.App, target.Service)
	switch {
	case errors.Is(err, docker.ErrExecNotFound):
		return &wire.Problem{
			Type: wire.ProblemNoCommand, Title: "No such command", Status: http.StatusNotFound, Detail: "there is no such program in " + where,
			Hint: "Name one that its image has; many images have no shell.",
		}
	case errors.Is(err, docker.ErrNotRunning), docker.IsNotFound(err):
		return notRunning(where+" does not run any more", fmt.Sprintf("`berth ps %s` shows what does.", target.App))
	case errors.Is(err, docker.ErrInvalid):
		return &wire.Problem{
			Type: wire.ProblemCommandRefused, Title: "The command cannot run", Status: http.StatusUnprocessableEntity, Detail: err.Error(),
			Hint: "Look whether the program may be executed by the container's user.",
		}
	case ctx.Err() != nil:
		return busy("the command was given up: "+context.Cause(ctx).Error(), "Try again.")
	}
	return s.asProblem(ctx, err)
}

// start reads what to run.
func (x *execSession) start() (execwire.StartRequest, error) {
	ctx, cancel := context.WithTimeout(x.ctx, execStartTimeout)
	defer cancel()
	var req execwire.StartRequest
	f, err := x.read(ctx)
	if err != nil {
		return req, err
	}
	if f.Kind != execwire.Start {
		return req, fmt.Errorf("%w: it begins with a frame %q", execwire.ErrProtocol, f.Kind)
	}
	return req, f.Decode(&req)
}

// receive takes what the caller sends until it leaves, which ends the session.
func (x *execSession) receive() {
	for {
		f, err := x.read(x.ctx)
		if err == nil {
			err = x.take(f)
		}
		if err != nil {
			if errors.Is(err, execwire.ErrProtocol) {
				_ = x.conn.Close(websocket.StatusPolicyViolation, "broken protocol")
			}
			x.cancel(fmt.Errorf("%w: %w", errPeerLeft, err))
			return
		}
	}
}

func (x *execSession) take(f execwire.Frame) error {
	switch f.Kind {
	case execwire.Stdin:
		return x.stdin.Put(f)
	case execwire.StdinEnd:
		x.stdin.End()
	case execwire.Resize:
		width, height := f.Size()
		x.resize(docker.TermSize{Width: width, Height: height})
	case execwire.Credit:
		return x.output.Grant(f.Amount())
	case execwire.Start, execwire.Stdout, execwire.Stderr, execwire.Exit:
		return fmt.Errorf("%w: frame %q from the caller", execwire.ErrProtocol, f.Kind)
	}
	return nil
}

// resize leaves the newest size for the engine; receive and the start, which
// come one after the other, are its only callers.
func (x *execSession) resize(size docker.TermSize) {
	select {
	case <-x.resizes:
	default:
	}
	select {
	case x.resizes <- size:
	default:
	}
}

// ping finds out that the caller is gone though its connection stands.
func (x *execSession) ping(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-tick.C:
			wait, cancel := context.WithTimeout(x.ctx, pongTimeout)
			err := x.conn.Ping(wait)
			cancel()
			if err != nil {
				x.cancel(fmt.Errorf("%w: %w", errPeerLeft, err))
				return
			}
		}
	}
}

func (x *execSession) read(ctx context.Context) (execwire.Frame, error) {
	kind, data, err := x.conn.Read(ctx)
	if err != nil {
		return execwire.Frame{}, err
	}
	if kind != websocket.MessageBinary {
		return execwire.Frame{}, fmt.Errorf("%w: a text message", execwire.ErrProtocol)
	}
	return execwire.Parse(data)
}

func (x *execSession) write(f execwire.Frame) error {
	ctx, cancel := context.WithTimeout(x.ctx, frameTimeout)
	defer cancel()
	return x.conn.Write(ctx, websocket.MessageBinary, f.Encode())
}

func (x *execSession) send(kind execwire.Kind, v any) error {
	f, err := execwire.JSONFrame(kind, v)
	if err != nil {
		return err
	}
	return x.write(f)
}

// outputWriter sends an output of the command, as fast as the caller takes it.
type outputWriter struct {
	ctx     context.Context // of the command
	session *execSession
	kind    execwire.Kind
}

func (o *outputWriter) Write(p []byte) (int, error) {
	sent := 0
	for sent < len(p) {
		n, err := o.session.output.Take(o.ctx, min(len(p)-sent, execwire.MaxData))
		if err != nil {
			return sent, err
		}
		if err := o.session.write(execwire.Frame{Kind: o.kind, Data: p[sent : sent+n]}); err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}
