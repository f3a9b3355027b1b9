package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

// faulty is a store with something before and after each call that takes effect.
type faulty struct {
	provider.StateStore
	before, after func(call string) error
}

func (f *faulty) hook(h func(string) error, call string) error {
	if h == nil {
		return nil
	}
	return h(call)
}

func (f *faulty) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := f.hook(f.before, "Get"); err != nil {
		return provider.Record{}, err
	}
	rec, err := f.StateStore.Get(ctx, key)
	if fault := f.hook(f.after, "Get"); fault != nil {
		return provider.Record{}, fault
	}
	return rec, err
}

func (f *faulty) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	if err := f.hook(f.before, "Put"); err != nil {
		return "", err
	}
	v, err := f.StateStore.Put(ctx, key, value, prior)
	if fault := f.hook(f.after, "Put"); fault != nil {
		return "", fault
	}
	return v, err
}

func (f *faulty) Delete(ctx context.Context, key string, prior provider.Version) error {
	if err := f.hook(f.before, "Delete"); err != nil {
		return err
	}
	err := f.StateStore.Delete(ctx, key, prior)
	if fault := f.hook(f.after, "Delete"); fault != nil {
		return fault
	}
	return err
}

func (f *faulty) List(ctx context.Context, prefix string) ([]string, error) {
	if err := f.hook(f.before, "List"); err != nil {
		return nil, err
	}
	keys, err := f.StateStore.List(ctx, prefix)
	if fault := f.hook(f.after, "List"); fault != nil {
		return nil, fault
	}
	return keys, err
}

// errKilled ends a process, or is what a call gives.
var errKilled = errors.New("killed")

// story is what a backend does with one lease; it is killed once, or one of its calls
// fails once, and it begins anew at the chapter in which it was.
type story struct {
	t       *testing.T
	clock   *clock
	holder  *holder
	refuse  int // requests that the holder refuses first
	store   *provider.MemoryStore
	cut     int  // at which moment
	panics  bool // or else an error
	moments int
}

// moment is before or after a call of the store or a send.
func (s *story) moment(string) error {
	s.moments++
	if s.moments != s.cut {
		return nil
	}
	if s.panics {
		panic(errKilled)
	}
	return errKilled
}

func (s *story) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := s.moment("send"); err != nil {
		return nil, err
	}
	if s.refuse--; s.refuse >= 0 {
		return reply(503, ""), nil
	}
	resp, err := s.holder.RoundTrip(r)
	if fault := s.moment("sent"); fault != nil {
		return nil, fault
	}
	return resp, err
}

func (s *story) outbox() *outbox.Outbox {
	return newOutbox(s.t, &faulty{s.store, s.moment, s.moment}, s.clock.now, s, nil)
}

// chapters are repeated until they come to their end.
func (s *story) chapters() []func(*outbox.Outbox) error {
	ctx := s.t.Context()
	var out []func(*outbox.Outbox) error
	adds := func(word string) func(*outbox.Outbox) error {
		return func(o *outbox.Outbox) error {
			// The words are the same for two, so that a receiver could take them for one.
			return o.Add(ctx, lease, target, word, failedWith(word[:1]))
		}
	}
	deliver := func(o *outbox.Outbox) error {
		waiting, err := o.Pending(ctx)
		for err == nil && len(waiting) > 0 {
			var again time.Duration
			if again, err = o.Step(ctx, lease); again == 0 {
				break
			}
			s.clock.move(again)
		}
		return err
	}
	out = append(out, adds("a1"), deliver, adds("b1"), adds("b2"), adds("c1"), deliver)
	return append(out, func(o *outbox.Outbox) error { return o.Forget(ctx, lease) })
}

func (s *story) tell() {
	chapters := s.chapters()
	o := s.outbox()
	for tries := 0; len(chapters) > 0; tries++ {
		if tries > 40 {
			s.t.Fatal("it does not end")
		}
		switch err := s.live(o, chapters[0]); {
		case err == nil:
			chapters = chapters[1:]
		case errors.Is(err, errKilled) || errors.Is(err, outbox.ErrBusy):
			s.clock.move(2 * time.Second)
			o = s.outbox()
		default:
			s.t.Fatal(err)
		}
	}
}

// live is one chapter in a process that may be killed.
func (s *story) live(o *outbox.Outbox, chapter func(*outbox.Outbox) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = errKilled; p != any(errKilled) {
				panic(p)
			}
		}
	}()
	return chapter(o)
}

// Killed anywhere, or failing anywhere, every callback is delivered once and in order.
func TestAKillAnywhereLosesAndDoublesNothing(t *testing.T) {
	for _, panics := range []bool{true, false} {
		t.Run(fmt.Sprintf("panics=%t", panics), func(t *testing.T) {
			cuts := 0
			for cut := 1; ; cut++ {
				c := newClock()
				s := &story{t: t, clock: c, holder: newHolder(t, c.now), refuse: 2, store: provider.NewMemoryStore(), cut: cut, panics: panics}
				s.tell()
				if got := s.holder.words(); !slices.Equal(got, []string{"a", "b", "b", "c"}) {
					t.Errorf("cut at %d delivered are %q", cut, got)
				}
				c.move(time.Minute)
				if waiting, err := newOutbox(t, s.store, c.now, s, nil).Pending(t.Context()); err != nil || len(waiting) > 0 {
					t.Errorf("cut at %d there wait %q, %v", cut, waiting, err)
				}
				if keys, _ := s.store.List(t.Context(), ""); len(keys) != 0 {
					t.Errorf("cut at %d left is %q", cut, keys)
				}
				if s.moments < cut {
					break
				}
				cuts++
			}
			t.Logf("%d cut points", cuts)
			if cuts < 50 {
				t.Errorf("there are %d cut points only", cuts)
			}
		})
	}
}
