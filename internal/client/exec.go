package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/wire/execwire"
)

const (
	execPing     = 15 * time.Second
	frameTimeout = 30 * time.Second
)

// Exec is a command to run in a container of an app, or of a workload.
type Exec struct {
	App, Service string
	// Workload is in place of App; then Service may be "" for the main one.
	Workload string
	Replica  int    // -1: the first that serves
	Member   string // "": the main container
	Command  []string
	// TTY gives the command a terminal, whose one output goes to Stdout.
	TTY bool
	// Stdin feeds the command; nil: it has no input. A Read that blocks may
	// outlive the call.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Sizes gives the size of the terminal, the first one before it starts.
	Sizes <-chan Size
}

// Size is that of a terminal, in characters.
type Size struct{ Width, Height uint16 }

// Exec runs a command and returns its exit code once it has ended and all it
// printed was written. What kept it from running is a *[wire.Problem]. When ctx
// ends, the command is given up; a program that does not heed the end of its
// streams goes on in the container.
func (c *Client) Exec(ctx context.Context, e Exec) (int, error) {
	conn, err := c.dialExec(ctx, e)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(execwire.MaxMessage)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &execCall{client: c, conn: conn, exec: e, cancel: cancel, room: execwire.NewAllowance(), output: execwire.NewInbox(), ended: make(chan execwire.ExitReport, 1)}
	if err := x.start(ctx); err != nil {
		return 0, c.unreachable(ctx, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { x.receive(ctx) })
	wg.Go(func() { x.ping(ctx) })
	wg.Go(func() { x.resize(ctx) })
	if e.Stdin != nil {
		go x.feed(ctx) // not waited for: a Read of a terminal cannot be broken off
	}
	code, err := x.finish(ctx)
	cancel(nil)
	_ = conn.CloseNow()
	wg.Wait()
	return code, err
}

func (c *Client) dialExec(ctx context.Context, e Exec) (*websocket.Conn, error) {
	query := url.Values{}
	if e.Replica >= 0 {
		query.Set("replica", strconv.Itoa(e.Replica))
	}
	if e.Member != "" {
		query.Set("member", e.Member)
	}
	target := "http://berth/v1/apps/" + url.PathEscape(e.App) + "/services/" + url.PathEscape(e.Service) + "/exec"
	if e.Workload != "" {
		target = "http://berth" + workloadPath(e.Workload, "exec")
		if e.Service != "" {
			query.Set("service", e.Service)
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	dialing, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	//nolint:bodyclose // of an answer by Dial it is never to be closed
	conn, resp, err := websocket.Dial(dialing, target, &websocket.DialOptions{
		HTTPClient: c.http, Subprotocols: []string{execwire.Subprotocol},
	})
	if err == nil {
		return conn, nil
	}
	if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
		return nil, problemOf(resp)
	}
	return nil, c.unreachable(ctx, err)
}

// execCall is one command, seen from the caller.
type execCall struct {
	client *Client
	conn   *websocket.Conn
	exec   Exec
	cancel context.CancelCauseFunc
	room   *execwire.Allowance
	output *execwire.Inbox
	ended  chan execwire.ExitReport
}

func (x *execCall) start(ctx context.Context) error {
	req := execwire.StartRequest{Command: x.exec.Command, TTY: x.exec.TTY, Stdin: x.exec.Stdin != nil}
	select {
	case size := <-x.exec.Sizes:
		req.Width, req.Height = size.Width, size.Height
	default:
	}
	f, err := execwire.JSONFrame(execwire.Start, req)
	if err != nil {
		return err
	}
	if len(f.Data) >= execwire.MaxMessage {
		return &wire.Problem{Type: wire.ProblemTooLarge, Title: "Command too long",
			Detail: fmt.Sprintf("the command has more than %d bytes", execwire.MaxMessage), Hint: "Pass what is so long on its standard input."}
	}
	return x.write(ctx, f)
}

// receive sorts what the daemon sends. It never waits for a writer, so pings are
// answered however slow the reader of the output is.
func (x *execCall) receive(ctx context.Context) {
	defer x.output.End()
	for {
		kind, data, err := x.conn.Read(ctx)
		if err == nil && kind != websocket.MessageBinary {
			err = fmt.Errorf("%w: a text message", execwire.ErrProtocol)
		}
		var f execwire.Frame
		if err == nil {
			f, err = execwire.Parse(data)
		}
		if err == nil {
			err = x.take(f)
		}
		if errors.Is(err, errDone) {
			return
		}
		if err != nil {
			x.cancel(fmt.Errorf("%w on %s: %w", ErrUnreachable, x.client.socket, err))
			return
		}
	}
}

func (x *execCall) take(f execwire.Frame) error {
	switch f.Kind {
	case execwire.Stdout, execwire.Stderr:
		return x.output.Put(f)
	case execwire.Credit:
		return x.room.Grant(f.Amount())
	case execwire.Exit:
		var report execwire.ExitReport
		if err := f.Decode(&report); err != nil {
			return err
		}
		x.ended <- report
		return errDone
	case execwire.Start, execwire.Stdin, execwire.StdinEnd, execwire.Resize:
	}
	return fmt.Errorf("%w: frame %q from the daemon", execwire.ErrProtocol, f.Kind)
}

// finish writes the output until its end, then says how the command ended.
func (x *execCall) finish(ctx context.Context) (int, error) {
	for {
		f, err := x.output.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, x.failure(ctx)
		}
		to := x.exec.Stdout
		if f.Kind == execwire.Stderr {
			to = x.exec.Stderr
		}
		if _, err := to.Write(f.Data); err != nil {
			return 0, fmt.Errorf("write what the command printed: %w", err)
		}
		if err := x.write(ctx, execwire.CreditFrame(len(f.Data))); err != nil && len(x.ended) == 0 && ctx.Err() == nil {
			x.cancel(x.client.unreachable(ctx, err))
		}
	}
	select {
	case report := <-x.ended:
		if report.Problem != nil {
			return 0, report.Problem
		}
		return report.Code, nil
	default:
		return 0, x.failure(ctx)
	}
}

// failure is why the session ended before the command did.
func (x *execCall) failure(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w on %s: the session ended early", ErrUnreachable, x.client.socket)
}

// feed sends the input, and its end.
func (x *execCall) feed(ctx context.Context) {
	buf := make([]byte, execwire.MaxData)
	for {
		n, readErr := x.exec.Stdin.Read(buf)
		for sent := 0; sent < n; {
			allowed, err := x.room.Take(ctx, n-sent)
			if err != nil {
				return
			}
			if x.write(ctx, execwire.Frame{Kind: execwire.Stdin, Data: buf[sent : sent+allowed]}) != nil {
				return
			}
			sent += allowed
		}
		if readErr != nil {
			_ = x.write(ctx, execwire.Frame{Kind: execwire.StdinEnd})
			return
		}
	}
}

func (x *execCall) resize(ctx context.Context) {
	for {
		select {
		case size, ok := <-x.exec.Sizes:
			if !ok || x.write(ctx, execwire.ResizeFrame(size.Width, size.Height)) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// ping finds out that the daemon hangs though its socket stands.
func (x *execCall) ping(ctx context.Context) {
	tick := time.NewTicker(execPing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			wait, cancel := context.WithTimeout(ctx, silence-execPing)
			err := x.conn.Ping(wait)
			cancel()
			if err != nil && ctx.Err() == nil {
				x.cancel(fmt.Errorf("%w on %s: %w", ErrUnreachable, x.client.socket, err))
				return
			}
		}
	}
}

func (x *execCall) write(ctx context.Context, f execwire.Frame) error {
	ctx, cancel := context.WithTimeout(ctx, frameTimeout)
	defer cancel()
	return x.conn.Write(ctx, websocket.MessageBinary, f.Encode())
}
