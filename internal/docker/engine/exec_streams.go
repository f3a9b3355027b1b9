package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/moby/moby/api/pkg/stdcopy"

	"github.com/berth-cloud/berth/internal/docker"
)

// outputs takes the stream of a command apart.
type outputs struct {
	tty            bool
	stdout, stderr *sink
}

// newOutputs asks refused about the first output only; what it claims is not
// passed on.
func newOutputs(e docker.ExecSpec, refused func(text string) bool) *outputs {
	return &outputs{tty: e.TTY, stdout: &sink{w: e.Stdout, refused: refused}, stderr: &sink{w: e.Stderr}}
}

// carry reads to the end of the stream.
func (o *outputs) carry(r io.Reader) error {
	buf := make([]byte, readBuffer)
	if o.tty {
		_, err := io.CopyBuffer(o.stdout, onlyReader{r}, buf)
		return err
	}
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(r, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(header[4:]))
		out := o.stdout
		switch stdcopy.StdType(header[0]) {
		case stdcopy.Stdin, stdcopy.Stdout:
		case stdcopy.Stderr:
			out = o.stderr
		case stdcopy.Systemerr:
			text, err := io.ReadAll(io.LimitReader(r, min(size, maxDaemonError)))
			return errors.Join(fmt.Errorf("the engine broke off: %s", text), err)
		default:
			return fmt.Errorf("frame of unknown stream %d", header[0])
		}
		n, err := io.CopyBuffer(out, io.LimitReader(r, size), buf)
		if err != nil {
			return err
		}
		if n < size {
			return io.ErrUnexpectedEOF
		}
	}
}

// failed is the error of a caller's writer, if one failed.
func (o *outputs) failed() error { return errors.Join(o.stdout.err, o.stderr.err) }

// onlyReader hides what else a reader can do, so that a copy is made piece by
// piece.
type onlyReader struct{ io.Reader }

// sink is one of the caller's writers; a nil one discards.
type sink struct {
	w       io.Writer
	refused func(text string) bool // nil once the first output came
	err     error
}

func (s *sink) Write(p []byte) (int, error) {
	if ask := s.refused; ask != nil {
		s.refused = nil
		if ask(string(p)) {
			return len(p), nil
		}
	}
	if s.w == nil {
		return len(p), nil
	}
	n, err := s.w.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	s.err = err
	return n, err
}

// feeder copies a caller's reader to a command.
type feeder struct {
	mu      sync.Mutex
	reading bool // a Read of the caller's is under way
	left    bool
	done    chan struct{}
}

// feed begins to copy. Without a terminal the connection has to be able to end
// in one direction alone, or the command would wait for more input for ever.
func feed(conn *attachment, from io.Reader, tty bool) (*feeder, error) {
	if _, ok := conn.Conn.(closeWriter); !ok && !tty {
		return nil, errors.New("the connection to the engine cannot tell it that the input ended")
	}
	f := &feeder{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.copy(conn, from)
	}()
	return f, nil
}

func (f *feeder) copy(conn *attachment, from io.Reader) {
	buf := make([]byte, readBuffer)
	for {
		if !f.turn(true) {
			return
		}
		n, err := from.Read(buf)
		if !f.turn(false) {
			return
		}
		if n > 0 {
			if _, err := conn.Write(buf[:n]); err != nil {
				return // the command ended, which its outputs tell
			}
		}
		if err != nil {
			if half, ok := conn.Conn.(closeWriter); ok {
				_ = half.CloseWrite()
			}
			return
		}
	}
}

// turn notes whether a Read begins or is over; false once nobody listens.
func (f *feeder) turn(reading bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading = reading && !f.left
	return !f.left
}

// leave ends the copying. Only a Read of the caller's is not waited for.
func (f *feeder) leave(conn *attachment) {
	conn.Close()
	f.mu.Lock()
	f.left = true
	reading := f.reading
	f.mu.Unlock()
	if !reading {
		<-f.done
	}
}
