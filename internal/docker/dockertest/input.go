package dockertest

import (
	"context"
	"io"
)

// input is a caller's reader that a program may read without being held by it:
// a Read ends with the context and with the container. The goroutine that reads ends with the Read it
// is in.
type input struct {
	ctx   context.Context
	gone  <-chan struct{} // the container's process ended
	broke <-chan struct{} // the engine dropped the caller
	from  io.Reader
	asks  chan int
	gives chan given
	left  chan struct{}
	begun bool
	rest  []byte
	err   error
}

type given struct {
	data []byte
	err  error
}

func newInput(ctx context.Context, gone, broke <-chan struct{}, from io.Reader) *input {
	return &input{ctx: ctx, gone: gone, broke: broke, from: from, asks: make(chan int), gives: make(chan given), left: make(chan struct{})}
}

// Read implements io.Reader. Nothing is read ahead of it.
func (i *input) Read(p []byte) (int, error) {
	if len(i.rest) == 0 && i.err == nil && len(p) > 0 {
		if !i.begun {
			i.begun = true
			go i.pump()
		}
		select {
		case i.asks <- len(p):
			i.take()
		case <-i.ctx.Done():
			i.err = i.ctx.Err()
		case <-i.gone:
			i.err = io.ErrClosedPipe
		case <-i.broke:
			i.err = io.ErrClosedPipe
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	if len(i.rest) > 0 {
		return n, nil
	}
	return n, i.err
}

func (i *input) take() {
	select {
	case g := <-i.gives:
		i.rest, i.err = g.data, g.err
	case <-i.ctx.Done():
		i.err = i.ctx.Err()
	case <-i.gone:
		i.err = io.ErrClosedPipe
	case <-i.broke:
		i.err = io.ErrClosedPipe
	}
}

func (i *input) pump() {
	for {
		select {
		case n := <-i.asks:
			buf := make([]byte, n)
			n, err := i.from.Read(buf)
			select {
			case i.gives <- given{buf[:n], err}:
			case <-i.left:
				return
			}
			if err != nil {
				return
			}
		case <-i.left:
			return
		}
	}
}

// leave parts from the caller's reader; it is called once.
func (i *input) leave() { close(i.left) }
