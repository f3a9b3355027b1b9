package nodes

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/wire"
)

// A process that drains asks its successor for a connection with one message: an errand,
// and with it one end of a pair of stream sockets. On that come an outcome, a line, and
// then what the node sends, in pieces with their length before them: an end has a piece of
// length 0, so that nothing that was cut looks whole. The other way are bare bytes.

type errand struct {
	Node    string        `json:"node"`
	Address string        `json:"address"`
	Timeout time.Duration `json:"timeout"`
}

const (
	maxErrand  = 4 << 10
	maxOutcome = 1 << 10
	doneLine   = "ok\n"
	piece      = 16 << 10
	maxRelayed = 4096
	// longest bounds an errand whose request has no deadline.
	longest = 10 * time.Second
)

// errHeir: the process that took over does not answer.
var errHeir = errors.New("the data plane that took over does not reach the node")

// heir is the successor, as a process that drains sees it.
type heir struct{ conn *net.UnixConn }

func (h *heir) close() { _ = h.conn.Close() }

func (h *heir) dial(ctx context.Context, node, address string) (net.Conn, error) {
	e := errand{Node: node, Address: address, Timeout: longest}
	if by, ok := ctx.Deadline(); ok {
		e.Timeout = min(time.Until(by), longest)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	mine, theirs, err := pair(unix.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	_, _, err = h.conn.WriteMsgUnix(body, unix.UnixRights(int(theirs.Fd())), nil)
	_ = theirs.Close()
	if err != nil {
		_ = mine.Close()
		return nil, fmt.Errorf("%w: %w", errHeir, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = mine.SetDeadline(time.Unix(1, 0)) })
	r := &relayed{Conn: mine, br: bufio.NewReaderSize(mine, piece)}
	err = r.outcome()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = mine.Close()
		return nil, fmt.Errorf("%w: %w", errHeir, err)
	}
	return r, nil
}

// relayed is a connection through a node that the successor has.
type relayed struct {
	net.Conn
	br    *bufio.Reader
	left  uint32 // of the piece under way
	ended bool
}

// NetConn is the connection below.
func (r *relayed) NetConn() net.Conn { return r.Conn }

// CloseWrite ends what is sent.
func (r *relayed) CloseWrite() error { return r.Conn.(*net.UnixConn).CloseWrite() }

func (r *relayed) outcome() error {
	line, err := r.br.ReadSlice('\n')
	switch {
	case err != nil:
		return err
	case string(line) != doneLine:
		return fmt.Errorf("%.*s", maxOutcome, line[:len(line)-1])
	}
	return nil
}

func (r *relayed) Read(p []byte) (int, error) {
	for r.left == 0 {
		if r.ended {
			return 0, io.EOF
		}
		head, err := r.br.Peek(4)
		if err != nil {
			return 0, uncut(err)
		}
		r.left = binary.BigEndian.Uint32(head)
		_, _ = r.br.Discard(4)
		r.ended = r.left == 0
	}
	n, err := r.br.Read(p[:min(len(p), int(r.left))])
	r.left -= uint32(n)
	return n, uncut(err)
}

func uncut(err error) error {
	if errors.Is(err, io.EOF) {
		return wire.ErrCut
	}
	return err
}

// Serve does the errands of the process before, whose dials are that file, until that one
// has ended or n is closed. It closes the file.
func (n *Nodes) Serve(dials *os.File) error {
	c, err := unixConn(dials)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(n.life)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	var wg sync.WaitGroup
	defer func() {
		cancel()
		stop()
		_ = c.Close()
		wg.Wait()
	}()
	slots := make(chan struct{}, maxRelayed)
	for {
		e, back, err := receive(c)
		if err != nil {
			return nil //nolint:nilerr // the other process has ended
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = back.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-slots }()
			n.run(ctx, e, back)
		})
	}
}

// receive is the next errand that makes sense.
func receive(c *net.UnixConn) (errand, *net.UnixConn, error) {
	msg, oob := make([]byte, maxErrand), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := c.ReadMsgUnix(msg, oob)
		if err != nil || n == 0 {
			return errand{}, nil, errors.Join(err, io.EOF)
		}
		all, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil || len(all) != 1 {
			continue
		}
		fds, err := unix.ParseUnixRights(&all[0])
		if err != nil || len(fds) != 1 {
			continue
		}
		unix.CloseOnExec(fds[0])
		back, err := unixConn(os.NewFile(uintptr(fds[0]), "dial"))
		if err != nil {
			continue
		}
		var e errand
		if json.Unmarshal(msg[:n], &e) != nil {
			_ = back.Close()
			continue
		}
		return e, back, nil
	}
}

// run dials and carries the bytes until both directions have ended, or either breaks.
func (n *Nodes) run(ctx context.Context, e errand, back *net.UnixConn) {
	defer func() { _ = back.Close() }()
	dctx, cancel := context.WithTimeout(ctx, min(e.Timeout, longest))
	node, err := n.Dial(dctx, e.Node, e.Address)
	cancel()
	if err != nil {
		_ = back.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = io.WriteString(back, wire.Clip(err.Error())+"\n")
		return
	}
	defer func() { _ = node.Close() }()
	abort := sync.OnceFunc(func() {
		_ = back.Close()
		_ = node.Close()
	})
	stop := context.AfterFunc(ctx, abort)
	defer stop()
	if _, err := io.WriteString(back, doneLine); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		to, ok := node.(interface{ CloseWrite() error })
		if !ok || bare(node, back) != nil || to.CloseWrite() != nil {
			abort()
		}
	})
	wg.Go(func() {
		if pieces(back, node) != nil {
			abort()
		}
	})
	wg.Wait()
}

func bare(to io.Writer, from io.Reader) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, piece))
	return err
}

// pieces copies with lengths, up to and with the end.
func pieces(to io.Writer, from io.Reader) error {
	buf := make([]byte, 4+piece)
	for {
		n, err := from.Read(buf[4:])
		if n > 0 {
			binary.BigEndian.PutUint32(buf, uint32(n))
			if _, werr := to.Write(buf[:4+n]); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			_, err = to.Write([]byte{0, 0, 0, 0})
			return err
		case err != nil:
			return err
		}
	}
}
