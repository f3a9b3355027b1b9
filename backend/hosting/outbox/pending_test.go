package outbox_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

const otherLease = "118f3c1e-7b2a-7c4d-9e5f-0123456789ab"

func TestAStartFindsWhatWaits(t *testing.T) {
	dir := t.TempDir()
	open := func() *provider.DirStore {
		s, err := provider.NewDirStore(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c := newClock()
	h := newHolder(t, c.now)
	store := open()
	o := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) { return reply(500, ""), nil }), nil)
	add(t, o, "a")
	step(t, o)
	add(t, o, "b")
	if err := o.Add(t.Context(), otherLease, target, "x", failedWith("x")); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	c.move(time.Minute)

	store = open()
	defer store.Close()
	m := outbox.Metrics{Pending: prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"})}
	o = newOutbox(t, store, c.now, h, func(cfg *outbox.Config) { cfg.Metrics = m })
	waiting, err := o.Pending(t.Context())
	if err != nil || !slices.Equal(waiting, []string{lease, otherLease}) || value(t, m.Pending) != 3 {
		t.Fatalf("%q wait with %v callbacks, %v", waiting, value(t, m.Pending), err)
	}
	step(t, o)
	if !slices.Equal(h.words(), []string{"a", "b"}) {
		t.Errorf("delivered are %q", h.words())
	}
	waiting, err = o.Pending(t.Context())
	if err != nil || !slices.Equal(waiting, []string{otherLease}) || value(t, m.Pending) != 1 {
		t.Errorf("%q wait with %v callbacks, %v", waiting, value(t, m.Pending), err)
	}
}

func TestARecordThatCannotBeReadIsItsLeasesAlone(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	o := newOutbox(t, store, c.now, h, nil)
	for _, broken := range []string{`{"version":1,"rows":`, `{"version":7}`} {
		version := provider.Version("")
		if old, err := store.Get(t.Context(), "backend/callbacks/"+otherLease); err == nil {
			version = old.Version
		}
		if _, err := store.Put(t.Context(), "backend/callbacks/"+otherLease, []byte(broken), version); err != nil {
			t.Fatal(err)
		}
		add(t, o, broken)
		waiting, err := o.Pending(t.Context())
		if err != nil || !slices.Equal(waiting, []string{lease, otherLease}) {
			t.Errorf("%q wait, %v", waiting, err)
		}
		step(t, o)
		_, stepped := o.Step(t.Context(), otherLease)
		_, looked := o.Look(t.Context(), otherLease)
		for call, err := range map[string]error{
			"Step": stepped, "Look": looked,
			"Add":    o.Add(t.Context(), otherLease, target, "p", failedWith("x")),
			"Forget": o.Forget(t.Context(), otherLease),
		} {
			if !errors.Is(err, outbox.ErrRecord) {
				t.Errorf("%s is %v", call, err)
			}
		}
		if rec, err := store.Get(t.Context(), "backend/callbacks/"+otherLease); err != nil || string(rec.Value) != broken {
			t.Errorf("then there is %q, %v", rec.Value, err)
		}
	}
	if len(h.words()) != 2 {
		t.Errorf("delivered are %q", h.words())
	}
}

func TestAStoreThatCannotBeReadIsNoEmptyOne(t *testing.T) {
	c := newClock()
	gone := errors.New("the disk is gone")
	for _, call := range []string{"Get", "List"} {
		store := provider.NewMemoryStore()
		add(t, newOutbox(t, store, c.now, nil, nil), "a")
		o := newOutbox(t, &faulty{StateStore: store, before: func(name string) error {
			if name == call {
				return gone
			}
			return nil
		}}, c.now, nil, nil)
		if waiting, err := o.Pending(t.Context()); !errors.Is(err, gone) || waiting != nil {
			t.Errorf("without %s %q wait, %v", call, waiting, err)
		}
	}
}

func TestAForgottenLeaseIsSilent(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	sends := 0
	o := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) {
		sends++
		return reply(500, ""), nil
	}), nil)
	add(t, o, "a")
	add(t, o, "b")
	step(t, o)
	for range 2 { // twice is as good
		if err := o.Forget(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	c.move(time.Hour)
	if again := step(t, o); again != 0 || sends != 1 {
		t.Errorf("%d are sent, and again in %s", sends, again)
	}
	if err := o.Forget(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if keys, _ := store.List(t.Context(), ""); len(keys) != 0 {
		t.Errorf("left is %q", keys)
	}
}

func TestNothingIsForgottenUnderWay(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	var o *outbox.Outbox
	o = newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) {
		if err := o.Forget(context.Background(), lease); !errors.Is(err, outbox.ErrBusy) {
			t.Errorf("while one is sent it is %v", err)
		}
		panic("killed")
	}), nil)
	add(t, o, "a")
	func() {
		defer func() { _ = recover() }()
		step(t, o)
	}()
	c.move(20*time.Second - 1)
	if err := o.Forget(t.Context(), lease); !errors.Is(err, outbox.ErrBusy) {
		t.Errorf("before the claim lapses it is %v", err)
	}
	c.move(1)
	if err := o.Forget(t.Context(), lease); err != nil {
		t.Errorf("after that it is %v", err)
	}
}

func TestALeaseThatComesBackIsRemembered(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	o := newOutbox(t, store, c.now, h, nil)
	add(t, o, "a")
	step(t, o)
	if err := o.Forget(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	add(t, o, "b")
	step(t, o)
	c.move(time.Minute)
	if _, err := o.Pending(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(t, o, "b")
	step(t, o)
	if !slices.Equal(h.words(), []string{"a", "b"}) {
		t.Errorf("delivered are %q", h.words())
	}
}

// An answer that comes after its claim has lapsed is for its own callback alone.
func TestALateAnswerIsForItsOwnCallback(t *testing.T) {
	tried := outbox.State{Pending: 1, Attempts: 1, Failure: "answered with 500"} // b, which is next
	for name, tt := range map[string]struct {
		meanwhile func(*testing.T, *outbox.Outbox)
		other     int // what the other attempt is answered with
		late      int // and this one, after that
		want      outbox.State
	}{
		"acknowledged after the lease came back": {func(t *testing.T, o *outbox.Outbox) {
			if err := o.Forget(t.Context(), lease); err != nil {
				t.Error(err)
			}
			add(t, o, "b")
		}, 500, 200, tried},
		"refused after another attempt":      {func(t *testing.T, o *outbox.Outbox) { step(t, o) }, 500, 404, outbox.State{Pending: 1, Attempts: 2, Failure: "answered with 500"}},
		"acknowledged after another attempt": {func(t *testing.T, o *outbox.Outbox) { step(t, o) }, 500, 200, outbox.State{}},
		"acknowledged by both": {func(t *testing.T, o *outbox.Outbox) {
			step(t, o)
			add(t, o, "b")
		}, 200, 200, tried},
	} {
		t.Run(name, func(t *testing.T) {
			store, c := provider.NewMemoryStore(), newClock()
			other := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) { return reply(tt.other, ""), nil }), nil)
			first := true
			o := newOutbox(t, store, c.now, wire(func(*http.Request) (*http.Response, error) {
				if first {
					first = false
					c.move(21 * time.Second)
					tt.meanwhile(t, other)
					return reply(tt.late, ""), nil
				}
				return reply(500, ""), nil
			}), nil)
			add(t, o, "a")
			_ = step(t, o)
			s, err := o.Look(t.Context(), lease)
			s.CreatedAt, s.NextTry = time.Time{}, time.Time{}
			if err != nil || s != tt.want {
				t.Errorf("there is %+v, %v, want %+v", s, err, tt.want)
			}
		})
	}
}
