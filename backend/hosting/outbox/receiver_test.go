package outbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

func TestEqualCallbacksOfOneSecondAreAllDelivered(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	o := newOutbox(t, store, c.now, h, nil)
	for n := range 20 {
		if err := o.Add(t.Context(), lease, target, fmt.Sprint(n), failedWith("the same")); err != nil {
			t.Fatal(err)
		}
		if again := step(t, o); again != 0 {
			t.Fatalf("%d is not acknowledged, and again in %s", n, again)
		}
		if n == 10 {
			o = newOutbox(t, store, c.now, h, nil)
		}
	}
	if got := len(h.words()); got != 20 {
		t.Errorf("%d are delivered", got)
	}
}

func TestALostAnswerDeliversOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		lost func() (*http.Response, error)
		for_ time.Duration
		want int
	}{
		"the connection ended":   {func() (*http.Response, error) { return nil, errors.New("reset") }, time.Minute, 1},
		"a proxy gave up":        {func() (*http.Response, error) { return reply(504, ""), nil }, time.Minute, 1},
		"for too long":           {func() (*http.Response, error) { return nil, errors.New("reset") }, 4*time.Minute + 30*time.Second, 2},
		"an answer that refuses": {func() (*http.Response, error) { return reply(401, ""), nil }, time.Second, 2},
	} {
		t.Run(name, func(t *testing.T) {
			store, c := provider.NewMemoryStore(), newClock()
			h := newHolder(t, c.now)
			lost := true
			to := wire(func(r *http.Request) (*http.Response, error) {
				resp, err := h.RoundTrip(r)
				if lost {
					return tt.lost()
				}
				return resp, err
			})
			add(t, newOutbox(t, store, c.now, to, nil), "a")
			step(t, newOutbox(t, store, c.now, to, nil))
			c.move(max(tt.for_, 2*time.Second))
			lost = false
			if again := step(t, newOutbox(t, store, c.now, to, nil)); again != 0 || len(h.words()) != tt.want {
				t.Errorf("%d are delivered, want %d, and again in %s", len(h.words()), tt.want, again)
			}
		})
	}
}

// A signature's second is of no use to a receiver when it is too far from its clock.
func TestSignaturesStayNearTheClock(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, func() time.Time { return c.now().Add(-29 * time.Second) }) // a clock that is behind
	o := newOutbox(t, store, c.now, h, nil)
	for n := range outbox.MaxPending {
		add(t, o, fmt.Sprint(n))
	}
	waits := 0
	for again := step(t, o); again > 0; again = step(t, o) {
		if waits++; again > 2*time.Second {
			t.Fatalf("it is again in %s", again)
		}
		c.move(again)
	}
	if got := len(h.words()); got != outbox.MaxPending || waits < outbox.MaxPending-40 {
		t.Errorf("%d are delivered with %d waits", got, waits)
	}
	s, err := o.Look(t.Context(), lease)
	if err != nil || s.Pending != 0 {
		t.Errorf("there is %+v, %v", s, err)
	}
}

func TestAClockThatGoesBackHoldsNothingUp(t *testing.T) {
	for name, fault := range map[string]func() (*http.Response, error){
		"before an attempt": nil,
		"after a failure":   func() (*http.Response, error) { return nil, errors.New("reset") },
		"after a kill":      func() (*http.Response, error) { panic(errKilled) },
	} {
		t.Run(name, func(t *testing.T) {
			store, c := provider.NewMemoryStore(), newClock()
			h := newHolder(t, c.now)
			down := false
			o := newOutbox(t, store, c.now, wire(func(r *http.Request) (*http.Response, error) {
				if down {
					return fault()
				}
				return h.RoundTrip(r)
			}), nil)
			add(t, o, "a")
			step(t, o)
			add(t, o, "b")
			if down = fault != nil; down {
				func() {
					defer func() { _ = recover() }()
					step(t, o)
				}()
			}
			c.move(-6 * time.Hour)
			down = false
			if again := step(t, o); again != 0 || !slices.Equal(h.words(), []string{"a", "b"}) {
				t.Errorf("delivered are %q, and again in %s", h.words(), again)
			}
		})
	}
}

// seconds are those of the signatures of what is sent.
func seconds(t *testing.T, into *[]string) wire {
	return func(r *http.Request) (*http.Response, error) {
		second, _, ok := strings.Cut(strings.TrimPrefix(r.Header.Get(hmacauth.Header), "t="), ",")
		if !ok || r.Header.Get("Content-Type") != "application/json" || r.Method != "POST" {
			t.Errorf("sent is %s with %v", r.Method, r.Header)
		}
		*into = append(*into, second)
		return reply(200, ""), nil
	}
}

func TestALeaseThatComesBackHasLaterSignatures(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	var got []string
	o := newOutbox(t, store, c.now, seconds(t, &got), nil)
	for range 3 {
		add(t, o, "a") // the operation is forgotten with the lease
		step(t, o)
		if err := o.Forget(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []string{"1800000000", "1800000001", "1800000002"}) {
		t.Errorf("they are signed at %q", got)
	}
	for _, left := range []int{1, 0} {
		if waiting, err := o.Pending(t.Context()); err != nil || len(waiting) != 0 {
			t.Errorf("%q wait, %v", waiting, err)
		}
		if keys, _ := store.List(t.Context(), ""); len(keys) != left {
			t.Errorf("at %s there is %q, want %d", c.now(), keys, left)
		}
		c.move(3 * time.Second)
	}
}

// Over a network, with the client that hosting has.
func TestOverANetwork(t *testing.T) {
	h := newHolder(t, time.Now)
	elsewhere := 0
	mux := http.NewServeMux()
	mux.Handle("/good", h.receiver)
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere++ })
	mux.Handle("/redirect", http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect))
	mux.HandleFunc("/close", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte{0xff}, 1<<20))
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, tt := range []struct {
		path, failure string
		policy        egress.Policy
	}{
		{"/good", "", egress.Policy{AllowLoopback: true}},
		{"/garbage", "", egress.Policy{AllowLoopback: true}},
		{"/redirect", "answered with 307", egress.Policy{AllowLoopback: true}},
		{"/close", "no answer", egress.Policy{AllowLoopback: true}},
		{"/good", "the address may not be dialled", egress.Policy{}},
	} {
		t.Run(tt.path+" "+tt.failure, func(t *testing.T) {
			client := egress.Client(tt.policy, 0)
			defer client.CloseIdleConnections()
			var log bytes.Buffer
			o := newOutbox(t, provider.NewMemoryStore(), time.Now, nil, func(cfg *outbox.Config) {
				cfg.Client, cfg.Logger = client, slog.New(slog.NewTextHandler(&log, nil))
			})
			if err := o.Add(t.Context(), lease, srv.URL+tt.path+"?token=hush", "p", failedWith("x")); err != nil {
				t.Fatal(err)
			}
			step(t, o)
			s, err := o.Look(t.Context(), lease)
			if err != nil || s.Failure != tt.failure || (s.Pending == 0) != (tt.failure == "") {
				t.Errorf("there is %+v, %v", s, err)
			}
			if (log.Len() > 0) != (tt.failure != "") || strings.Contains(log.String(), "hush") {
				t.Errorf("logged is %s", &log)
			}
		})
	}
	if len(h.words()) != 1 || elsewhere != 0 {
		t.Errorf("delivered is %q, and %d went elsewhere", h.words(), elsewhere)
	}
}
