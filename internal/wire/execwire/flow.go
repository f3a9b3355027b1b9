package execwire

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Allowance is how many bytes of data this side may still send. It is safe for
// concurrent use by one sender and one receiver of credit.
type Allowance struct {
	mu   sync.Mutex
	free int
	more chan struct{} // holds at most one wake
}

// NewAllowance is a full allowance of Window bytes.
func NewAllowance() *Allowance { return &Allowance{free: Window, more: make(chan struct{}, 1)} }

// Take waits for room and takes up to want bytes of it, at least one.
func (a *Allowance) Take(ctx context.Context, want int) (int, error) {
	for {
		a.mu.Lock()
		n := min(want, a.free)
		a.free -= n
		a.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-a.more:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// Grant gives room back. More than was ever taken is ErrProtocol.
func (a *Allowance) Grant(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n < 0 || n > Window-a.free {
		return fmt.Errorf("%w: credit for %d bytes, of which %d are under way", ErrProtocol, n, Window-a.free)
	}
	a.free += n
	wake(a.more)
	return nil
}

// Inbox holds data that came until it is taken, Window bytes at most. It is safe
// for concurrent use by one who puts and one who takes.
type Inbox struct {
	mu     sync.Mutex
	frames []Frame
	size   int
	ended  bool
	ready  chan struct{} // holds at most one wake
}

// NewInbox is an empty inbox.
func NewInbox() *Inbox { return &Inbox{ready: make(chan struct{}, 1)} }

// Put adds a frame of data, which it keeps. What no longer fits, and what comes
// after the end, is ErrProtocol.
func (b *Inbox) Put(f Frame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.size+len(f.Data) > Window {
		return fmt.Errorf("%w: %d bytes that were not allowed", ErrProtocol, len(f.Data))
	}
	if len(f.Data) == 0 {
		return nil
	}
	b.size += len(f.Data)
	// Small pieces of one stream are joined, so that their number is bounded too.
	if n := len(b.frames); n > 0 && b.frames[n-1].Kind == f.Kind && len(b.frames[n-1].Data)+len(f.Data) <= MaxData {
		b.frames[n-1].Data = append(b.frames[n-1].Data, f.Data...)
	} else {
		b.frames = append(b.frames, f)
	}
	wake(b.ready)
	return nil
}

// End says that nothing more comes.
func (b *Inbox) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	wake(b.ready)
}

// Next waits for the next frame; io.EOF comes after the last one.
func (b *Inbox) Next(ctx context.Context) (Frame, error) {
	for {
		b.mu.Lock()
		if len(b.frames) > 0 {
			f := b.frames[0]
			b.frames[0] = Frame{}
			b.frames = b.frames[1:]
			b.size -= len(f.Data)
			b.mu.Unlock()
			return f, nil
		}
		ended := b.ended
		b.mu.Unlock()
		if ended {
			return Frame{}, io.EOF
		}
		select {
		case <-b.ready:
		case <-ctx.Done():
			return Frame{}, context.Cause(ctx)
		}
	}
}

// Reader reads the data of an inbox as one stream, until its end or that of ctx.
// taken is told how many bytes a read took.
func (b *Inbox) Reader(ctx context.Context, taken func(n int)) io.Reader {
	return &reader{ctx: ctx, inbox: b, taken: taken}
}

type reader struct {
	ctx   context.Context
	inbox *Inbox
	rest  []byte
	taken func(n int)
}

func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if len(r.rest) == 0 {
		f, err := r.inbox.Next(r.ctx)
		if err != nil {
			return 0, err
		}
		r.rest = f.Data
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.taken(n)
	return n, nil
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
