package outbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

func TestTheNextWaitsForTheOneBefore(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	down := true
	var tried []string
	o := newOutbox(t, store, c.now, wire(func(r *http.Request) (*http.Response, error) {
		if down {
			tried = append(tried, payloadOf(r).Error)
			return reply(503, ""), nil
		}
		return h.RoundTrip(r)
	}), nil)
	for _, word := range []string{"a", "b", "c"} {
		add(t, o, word)
	}
	for range 5 {
		c.move(step(t, o))
	}
	if !slices.Equal(tried, []string{"a", "a", "a", "a", "a"}) {
		t.Errorf("tried are %q", tried)
	}
	down = false
	if again := step(t, o); again != 0 || !slices.Equal(h.words(), []string{"a", "b", "c"}) {
		t.Errorf("delivered are %q, and again in %s", h.words(), again)
	}
}

func TestAttemptsBecomeRarer(t *testing.T) {
	for name, tt := range map[string]struct {
		rand float64
		want []time.Duration
	}{
		"at the latest":   {0, []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 300, 300}},
		"at the earliest": {1 - 1e-12, []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 150, 150}},
	} {
		t.Run(name, func(t *testing.T) {
			c, tries := newClock(), 0
			o := newOutbox(t, provider.NewMemoryStore(), c.now, wire(func(*http.Request) (*http.Response, error) {
				tries++
				return reply(500, ""), nil
			}), func(cfg *outbox.Config) { cfg.Rand = func() float64 { return tt.rand } })
			add(t, o, "a")
			for i, want := range tt.want {
				again := step(t, o)
				if again.Round(time.Millisecond) != want*time.Second {
					t.Errorf("after attempt %d it is again in %s, want %ds", i+1, again, want)
				}
				c.move(again - 1)
				if left := step(t, o); left != 1 || tries != i+1 {
					t.Errorf("too early there are %d attempts, and again in %s", tries, left)
				}
				c.move(1)
			}
		})
	}
}

func TestACallbackIsGivenUpAfterADay(t *testing.T) {
	store, c := provider.NewMemoryStore(), newClock()
	h := newHolder(t, c.now)
	down, last := true, time.Time{}
	gauge := func() prometheus.Gauge { return prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"}) }
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "x"}) }
	m := outbox.Metrics{Pending: gauge(), Sent: counter(), Failed: counter(), GivenUp: counter()}
	o := newOutbox(t, store, c.now, wire(func(r *http.Request) (*http.Response, error) {
		if last = c.now(); down {
			return nil, errors.New("no route to host")
		}
		return h.RoundTrip(r)
	}), func(cfg *outbox.Config) { cfg.Metrics = m })
	began := c.now()
	add(t, o, "a")
	c.move(time.Hour)
	add(t, o, "b")
	tries := 0
	for ; c.now().Sub(began) < outbox.MaxAge; tries++ {
		c.move(step(t, o))
	}
	if c.now().Sub(began) != outbox.MaxAge || last.Sub(began) < outbox.MaxAge-outbox.MaxBackoff {
		t.Errorf("the last attempt is after %s, and it is looked at again after %s", last.Sub(began), c.now().Sub(began))
	}
	down = false
	if again := step(t, o); again != 0 || !slices.Equal(h.words(), []string{"b"}) {
		t.Errorf("after that %q are delivered, and again in %s", h.words(), again)
	}
	if s, err := o.Look(t.Context(), lease); err != nil || s != (outbox.State{GivenUp: 1}) {
		t.Errorf("there is %+v, %v", s, err)
	}
	got := []float64{value(t, m.Pending), value(t, m.Sent), value(t, m.Failed), value(t, m.GivenUp)}
	if want := []float64{0, 1, float64(tries), 1}; !slices.Equal(got, want) {
		t.Errorf("counted are %v, want %v", got, want)
	}
}

func TestWhatIsNoAcknowledgementIsTriedAgain(t *testing.T) {
	for name, answer := range map[string]wire{
		"a 500":      func(*http.Request) (*http.Response, error) { return reply(500, "later"), nil },
		"a 404":      func(*http.Request) (*http.Response, error) { return reply(404, ""), nil },
		"a 199":      func(*http.Request) (*http.Response, error) { return reply(199, ""), nil },
		"a redirect": func(*http.Request) (*http.Response, error) { return redirect(), nil },
		"an end":     func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
		"silence": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				h := newHolder(t, time.Now)
				o := newOutbox(t, provider.NewMemoryStore(), time.Now, wire(func(r *http.Request) (*http.Response, error) {
					if tries++; tries == 1 {
						return answer(r)
					}
					return h.RoundTrip(r)
				}), nil)
				add(t, o, "a")
				began := time.Now()
				again := step(t, o)
				if took := time.Since(began); took > outbox.SendTimeout || again < time.Second || again > 2*time.Second || tries != 1 {
					t.Fatalf("it took %s and %d attempts, and again in %s", took, tries, again)
				}
				<-time.After(again)
				if again = step(t, o); again != 0 || !slices.Equal(h.words(), []string{"a"}) {
					t.Errorf("then delivered are %q, and again in %s", h.words(), again)
				}
			})
		})
	}
}

func redirect() *http.Response {
	resp := reply(302, "")
	resp.Header.Set("Location", "https://elsewhere.example/")
	return resp
}

func TestAnAcknowledgementIsItsStatusAlone(t *testing.T) {
	for name, body := range map[string]io.Reader{
		"garbage":          repeat{},
		"an early end":     io.MultiReader(),
		"a body that ends": brokenBody{},
		"a body that waits": readerFunc(func([]byte) (int, error) {
			<-time.After(100 * time.Millisecond) // for each, and for ever
			return 1, nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int64
				o := newOutbox(t, provider.NewMemoryStore(), time.Now, wire(func(r *http.Request) (*http.Response, error) {
					resp := reply(200, "")
					resp.Body = io.NopCloser(readerFunc(func(into []byte) (int, error) {
						if err := r.Context().Err(); err != nil {
							return 0, err
						}
						n, err := body.Read(into)
						read.Add(int64(n))
						return n, err
					}))
					return resp, nil
				}), nil)
				add(t, o, "a")
				began := time.Now()
				if again := step(t, o); again != 0 || time.Since(began) > 2*time.Second || read.Load() > 4<<10 {
					t.Errorf("again in %s after %s and %d bytes", again, time.Since(began), read.Load())
				}
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(into []byte) (int, error) { return f(into) }

type repeat struct{}

func (repeat) Read(into []byte) (int, error) { return len(into), nil }

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhoStepsMayLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := provider.NewMemoryStore()
		h := newHolder(t, time.Now)
		hang := true
		o := newOutbox(t, store, time.Now, wire(func(r *http.Request) (*http.Response, error) {
			if hang {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return h.RoundTrip(r)
		}), nil)
		add(t, o, "a")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		if _, err := o.Step(ctx, lease); !errors.Is(err, context.Canceled) || time.Since(began) != 3*time.Second {
			t.Errorf("after %s it is %v", time.Since(began), err)
		}
		if s, err := o.Look(t.Context(), lease); err != nil || s.Attempts != 0 || s.Pending != 1 {
			t.Errorf("there is %+v, %v", s, err)
		}
		hang = false
		if again := step(t, newOutbox(t, store, time.Now, h, nil)); again != 0 || len(h.words()) != 1 {
			t.Errorf("at once after it %q are delivered, and again in %s", h.words(), again)
		}
	})
}

// slowStore takes its time for each write, whatever the context says.
type slowStore struct {
	provider.StateStore
	wait time.Duration
}

func (s slowStore) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	v, err := s.StateStore.Put(ctx, key, value, prior)
	<-time.After(s.wait)
	return v, err
}

func TestNoRowIsUnderWayTwiceAtATime(t *testing.T) {
	for name, tt := range map[string]struct{ write, answer time.Duration }{
		"a quick one":                {0, time.Second},
		"a slow receiver":            {0, time.Minute},
		"a slow store":               {15 * time.Second, time.Minute},
		"a store slower than claims": {25 * time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := provider.NewMemoryStore()
				var mu sync.Mutex
				under, most, all := 0, 0, 0
				to := wire(func(r *http.Request) (*http.Response, error) {
					mu.Lock()
					under++
					all++
					most = max(most, under)
					mu.Unlock()
					defer func() {
						mu.Lock()
						under--
						mu.Unlock()
					}()
					select {
					case <-time.After(tt.answer):
						return reply(200, ""), nil
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})
				add(t, newOutbox(t, store, time.Now, to, nil), "a")
				add(t, newOutbox(t, store, time.Now, to, nil), "b")
				end := time.Now().Add(5 * time.Minute)
				var steps sync.WaitGroup
				for n := range 4 {
					// The first claims, and is slow to learn that it did.
					o := newOutbox(t, slowStore{store, tt.write / time.Duration(1+3*n)}, time.Now, to, nil)
					steps.Go(func() {
						<-time.After(time.Duration(n) * 100 * time.Millisecond)
						for time.Now().Before(end) {
							again, err := o.Step(t.Context(), lease)
							if err != nil && !errors.Is(err, provider.ErrConflict) && !errors.Is(err, context.DeadlineExceeded) {
								t.Error(err)
							}
							if again == 0 {
								return
							}
							<-time.After(min(again, time.Second))
						}
					})
				}
				steps.Wait()
				if most > 1 {
					t.Errorf("%d are under way at a time", most)
				}
				if tt.answer == time.Second && all != 2 {
					t.Errorf("%d are sent of 2", all)
				}
				if tt.write <= 15*time.Second && all == 0 {
					t.Error("none is sent")
				}
			})
		})
	}
}
