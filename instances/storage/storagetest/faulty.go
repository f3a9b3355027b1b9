package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/instances/storage"
)

// ErrInjected is in every failure that a Faulty makes up, beside
// storage.ErrUnavailable.
var ErrInjected = errors.New("injected fault")

// Op is an operation of a storage.Storage.
type Op string

// The operations.
const (
	OpGet           Op = "get"
	OpPut           Op = "put"
	OpPutIfMatch    Op = "put-if-match"
	OpDelete        Op = "delete"
	OpDeleteIfMatch Op = "delete-if-match"
	OpExists        Op = "exists"
	OpList          Op = "list"
	OpGetMetadata   Op = "get-metadata"
	OpGetStream     Op = "get-stream"
	OpPutStream     Op = "put-stream"
)

// Writes says whether an operation changes something.
func (o Op) Writes() bool {
	switch o {
	case OpPut, OpPutIfMatch, OpDelete, OpDeleteIfMatch, OpPutStream:
		return true
	}
	return false
}

// Call is one call of an operation. Of a list, Key is the prefix.
type Call struct {
	Op  Op
	Key string
}

// Mode says how a call fails.
type Mode int

// The modes.
const (
	// FailBefore fails and does nothing.
	FailBefore Mode = iota + 1
	// FailAfter does it and fails.
	FailAfter
	// HangBefore does nothing until the call's context ends, and then fails.
	HangBefore
	// HangAfter does it, and answers only when the call's context ends.
	HangAfter
)

// Fault is one thing that goes wrong, once.
type Fault struct {
	// At is the number, from 1 and from Inject on, of the call that fails, among
	// those that fit.
	At   int
	Mode Mode
	// Ops are those that fit; without any, all that write.
	Ops []Op
	// KeyPrefix is what their keys begin with.
	KeyPrefix string
	// Err is the failure; nil is one that says ErrInjected and
	// storage.ErrUnavailable.
	Err error
	// Dies makes every later call fail and do nothing, as when the process that
	// called were no more, until Revive.
	Dies bool
}

func (f *Fault) fits(c Call) bool {
	if !strings.HasPrefix(c.Key, f.KeyPrefix) {
		return false
	}
	if len(f.Ops) == 0 {
		return c.Op.Writes()
	}
	return slices.Contains(f.Ops, c.Op)
}

func (f *Fault) failure(c Call) error {
	err := f.Err
	if err == nil {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, ErrInjected)
	}
	return fmt.Errorf("%s %s: %w", c.Op, c.Key, err)
}

// Faulty is a Storage that does what another one does, counts, and fails as it
// is told. Methods are safe for concurrent use.
type Faulty struct {
	inner storage.Storage

	mu      sync.Mutex
	faults  []*Fault
	before  func(context.Context, Call) error
	calls   []Call
	effects []Call
	dead    bool
	hanging int
}

var _ storage.Storage = (*Faulty)(nil)

// NewFaulty returns a Faulty that does what inner does.
func NewFaulty(inner storage.Storage) *Faulty { return &Faulty{inner: inner} }

// Inject adds faults. Each happens once; of several for one call, the first.
func (f *Faulty) Inject(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range faults {
		f.faults = append(f.faults, &one)
	}
}

// Before calls hook before every call, which fails with its error and does
// nothing: to be slow, or to let something else happen first. nil ends it.
func (f *Faulty) Before(hook func(context.Context, Call) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = hook
}

// Calls are those since the start or Reset, in order.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Effects are the calls that wrote, as Calls. A refused condition is none.
func (f *Faulty) Effects() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.effects)
}

// Hanging is how many calls hang.
func (f *Faulty) Hanging() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hanging
}

// Pending is how many faults have not happened yet.
func (f *Faulty) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.faults)
}

// Kill makes every call fail and do nothing until Revive.
func (f *Faulty) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}

// Revive ends Kill and a fault that Dies.
func (f *Faulty) Revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = false
}

// Reset forgets faults, hook and counts, and revives.
func (f *Faulty) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.before, f.calls, f.effects, f.dead = nil, nil, nil, nil, false
}

// enter counts a call and finds its fault.
func (f *Faulty) enter(ctx context.Context, c Call) (*Fault, error) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	dead, hook := f.dead, f.before
	var due *Fault
	if !dead {
		due = f.due(c)
	}
	f.mu.Unlock()
	if dead {
		return nil, (&Fault{}).failure(c)
	}
	if hook != nil {
		if err := hook(ctx, c); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// due counts a call for every fault and takes the first that it is due for. mu is
// held.
func (f *Faulty) due(c Call) *Fault {
	var found *Fault
	f.faults = slices.DeleteFunc(f.faults, func(one *Fault) bool {
		if one.fits(c) {
			one.At--
		}
		if found == nil && one.fits(c) && one.At <= 0 {
			found = one
			return true
		}
		return false
	})
	if found != nil && found.Dies {
		f.dead = true
	}
	return found
}

// do makes a call, or fails as it is told to.
func (f *Faulty) do(ctx context.Context, c Call, run func() error) error {
	fault, err := f.enter(ctx, c)
	if err != nil {
		return err
	}
	if fault == nil {
		return f.run(c, run)
	}
	if fault.Mode == FailAfter || fault.Mode == HangAfter {
		if err := f.run(c, run); err != nil {
			return err
		}
	}
	if fault.Mode == HangBefore || fault.Mode == HangAfter {
		return f.hang(ctx, c)
	}
	return fault.failure(c)
}

func (f *Faulty) run(c Call, run func() error) error {
	err := run()
	if err == nil && c.Op.Writes() {
		f.mu.Lock()
		f.effects = append(f.effects, c)
		f.mu.Unlock()
	}
	return err
}

func (f *Faulty) hang(ctx context.Context, c Call) error {
	f.count(1)
	defer f.count(-1)
	<-ctx.Done()
	return fmt.Errorf("%s %s: %w", c.Op, c.Key, ctx.Err())
}

func (f *Faulty) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hanging += n
}

// Get implements storage.Storage.
func (f *Faulty) Get(ctx context.Context, key string) (data []byte, tag string, err error) {
	err = f.do(ctx, Call{OpGet, key}, func() (err error) {
		data, tag, err = f.inner.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return data, tag, nil
}

// Put implements storage.Storage.
func (f *Faulty) Put(ctx context.Context, key string, data []byte) (string, error) {
	return f.write(ctx, Call{OpPut, key}, func() (string, error) { return f.inner.Put(ctx, key, data) })
}

// write makes a call whose answer is a tag.
func (f *Faulty) write(ctx context.Context, c Call, run func() (string, error)) (tag string, err error) {
	err = f.do(ctx, c, func() (err error) {
		tag, err = run()
		return err
	})
	if err != nil {
		return "", err
	}
	return tag, nil
}

// PutIfMatch implements storage.Storage.
func (f *Faulty) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	return f.write(ctx, Call{OpPutIfMatch, key}, func() (string, error) { return f.inner.PutIfMatch(ctx, key, data, tag) })
}

// Delete implements storage.Storage.
func (f *Faulty) Delete(ctx context.Context, key string) error {
	return f.do(ctx, Call{OpDelete, key}, func() error { return f.inner.Delete(ctx, key) })
}

// DeleteIfMatch implements storage.Storage.
func (f *Faulty) DeleteIfMatch(ctx context.Context, key, tag string) error {
	return f.do(ctx, Call{OpDeleteIfMatch, key}, func() error { return f.inner.DeleteIfMatch(ctx, key, tag) })
}

// Exists implements storage.Storage.
func (f *Faulty) Exists(ctx context.Context, key string) (there bool, err error) {
	err = f.do(ctx, Call{OpExists, key}, func() (err error) {
		there, err = f.inner.Exists(ctx, key)
		return err
	})
	return there && err == nil, err
}

// List implements storage.Storage.
func (f *Faulty) List(ctx context.Context, prefix string) (all []storage.Metadata, err error) {
	err = f.do(ctx, Call{OpList, prefix}, func() (err error) {
		all, err = f.inner.List(ctx, prefix)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// GetMetadata implements storage.Storage.
func (f *Faulty) GetMetadata(ctx context.Context, key string) (m storage.Metadata, err error) {
	err = f.do(ctx, Call{OpGetMetadata, key}, func() (err error) {
		m, err = f.inner.GetMetadata(ctx, key)
		return err
	})
	if err != nil {
		return storage.Metadata{}, err
	}
	return m, nil
}

// GetStream implements storage.Storage.
func (f *Faulty) GetStream(ctx context.Context, key string) (r io.ReadCloser, m storage.Metadata, err error) {
	err = f.do(ctx, Call{OpGetStream, key}, func() (err error) {
		r, m, err = f.inner.GetStream(ctx, key)
		return err
	})
	if err != nil {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
		return nil, storage.Metadata{}, err
	}
	return r, m, nil
}

// PutStream implements storage.Storage.
func (f *Faulty) PutStream(ctx context.Context, key string, r io.Reader, size int64) (string, error) {
	return f.write(ctx, Call{OpPutStream, key}, func() (string, error) { return f.inner.PutStream(ctx, key, r, size) })
}
