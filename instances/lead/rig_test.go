package lead_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/lead"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

var _ instances.Leadership = (*lead.Elector)(nil)

// server is a contender with a store of its own to fail, a clock of its own, and a
// process that can be stopped.
type server struct {
	t      testing.TB
	name   string
	e      *lead.Elector
	store  *storagetest.Faulty
	clock  *clock
	cancel context.CancelFunc
	done   chan error

	mu     sync.Mutex
	terms  []uint64
	acting bool
	work   func(context.Context) error
	frozen chan struct{}  // not nil: the process is stopped
	top    *atomic.Uint64 // not nil: the greatest term that anybody wrote in
}

// clock is one that may be wrong: off by an offset, and of another speed.
type clock struct {
	mu     sync.Mutex
	start  time.Time
	offset time.Duration
	speed  float64
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	elapsed := time.Duration(float64(now.Sub(c.start)) * c.speed)
	return c.start.Add(elapsed + c.offset)
}

// jump moves the wall's clock alone, as a person does.
func (c *clock) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

func newServer(t testing.TB, name string, inner storage.Storage, change ...func(*lead.Options)) *server {
	t.Helper()
	s := &server{t: t, name: name, store: storagetest.NewFaulty(inner), clock: &clock{start: time.Now(), speed: 1}, done: make(chan error, 1)}
	s.store.Before(func(ctx context.Context, _ storagetest.Call) error { return s.hold(ctx) })
	opts := lead.Options{Storage: s.store, Holder: name, Now: s.clock.now, Session: fmt.Sprintf("%s-%p", name, s)}
	for _, one := range change {
		one(&opts)
	}
	e, err := lead.New(opts)
	must(t, err)
	s.e = e
	return s
}

func (s *server) start() *server {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.done <- s.e.Run(ctx, s.lead) }()
	return s
}

// lead is the work of a leader: it waits for its end.
func (s *server) lead(ctx context.Context, term uint64) error {
	s.mu.Lock()
	if s.acting {
		s.t.Errorf("%s works twice at once", s.name)
	}
	s.terms, s.acting = append(s.terms, term), true
	if s.top != nil {
		s.top.Store(max(s.top.Load(), term))
	}
	work := s.work
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acting = false
	}()
	if work != nil {
		return work(ctx)
	}
	<-ctx.Done()
	return nil
}

// does says what its work is from the next term on.
func (s *server) does(work func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work = work
}

// stop ends a server in order.
func (s *server) stop() {
	s.cancel()
	s.thaw()
	if err := <-s.done; err != nil {
		s.t.Errorf("%s: %v", s.name, err)
	}
}

// freeze stops all that a server has to do with the store, until thaw.
func (s *server) freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil {
		s.frozen = make(chan struct{})
	}
}

func (s *server) thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen != nil {
		close(s.frozen)
		s.frozen = nil
	}
}

// hold is where a stopped process is: it does not see the end of its own contexts.
func (s *server) hold(context.Context) error {
	s.mu.Lock()
	frozen := s.frozen
	s.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	return nil
}

func (s *server) leads() bool {
	_, ok := s.e.Term()
	return ok
}

// room is a shard with servers.
type room struct {
	t       testing.TB
	servers []*server
	store   storage.Storage
	most    uint64
}

func newRoom(t testing.TB, store storage.Storage, n int, change ...func(*lead.Options)) *room {
	r := &room{t: t, store: store}
	for i := range n {
		r.servers = append(r.servers, newServer(t, string(rune('a'+i)), store, change...))
	}
	for _, s := range r.servers {
		s.start()
	}
	return r
}

func (r *room) stop() {
	for _, s := range r.servers {
		s.cancel()
	}
	for _, s := range r.servers {
		s.stop()
	}
}

// look is who leads right now; two are a failure, and so is a term that goes back.
func (r *room) look() *server {
	r.t.Helper()
	synctest.Wait()
	var all []*server
	for _, s := range r.servers {
		if term, ok := s.e.Term(); ok {
			all = append(all, s)
			if term < r.most {
				r.t.Fatalf("%s leads in term %d after a term %d", s.name, term, r.most)
			}
			r.most = term
		}
	}
	if len(all) > 1 {
		r.t.Fatalf("%s and %s lead at once", all[0].name, all[1].name)
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// pass lets time pass, looking all the while.
func (r *room) pass(d time.Duration) {
	r.t.Helper()
	const step = 50 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.look()
		<-time.After(step)
	}
	r.look()
}

// leader waits until somebody leads but those, and returns who and after how long.
func (r *room) leader(within time.Duration, but ...*server) (*server, time.Duration) {
	r.t.Helper()
	began := time.Now()
	for time.Since(began) <= within {
		if s := r.look(); s != nil && !slices.Contains(but, s) {
			return s, time.Since(began)
		}
		<-time.After(50 * time.Millisecond)
	}
	r.t.Fatalf("nobody leads after %v", within)
	return nil, 0
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
