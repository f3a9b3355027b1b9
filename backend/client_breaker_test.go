package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// wire is a transport of which the test is the other end.
type wire func(*http.Request) (*http.Response, error)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

func answering(status int, body string) wire {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

const someLease = "018f3c1e-7b2a-7c4d-9e5f-000000000001"

// wired is a client whose transport may be changed by the test.
func wired(cfg HTTPClientConfig) (*HTTPClient, *wire) {
	cfg.Name, cfg.BaseURL = "b1", "http://backend"
	c := NewHTTPClient(cfg)
	w := answering(200, `{"host":"h"}`)
	c.http.Transport = wire(func(r *http.Request) (*http.Response, error) { return w(r) })
	return c, &w
}

func getInfo(ctx context.Context, c *HTTPClient) error {
	_, err := c.GetInfo(ctx, someLease)
	return err
}

func gaugeOf(t *testing.T, g *prometheus.GaugeVec) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(g)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 {
		t.Fatalf("the gauge is %v, %v", families, err)
	}
	return fmt.Sprint(families[0].GetMetric()[0].GetGauge().GetValue())
}

var errWire = errors.New("connection refused")

func refusing(*http.Request) (*http.Response, error) { return nil, errWire }

func TestTheBreakerOpensAfterFailuresInARowAndLetsOneThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "state"}, []string{"backend"})
		c, w := wired(HTTPClientConfig{CircuitBreakerState: gauge})
		expect := func(want error, state string) {
			t.Helper()
			if err := getInfo(t.Context(), c); !errors.Is(err, want) || (want == nil) != (err == nil) {
				t.Fatalf("the call is %v, want %v", err, want)
			}
			if got := gaugeOf(t, gauge); got != state {
				t.Fatalf("the gauge is %s, want %s", got, state)
			}
		}
		good := *w
		*w = refusing
		for range 4 {
			expect(errWire, "0")
		}
		*w = good
		expect(nil, "0") // so the row begins anew
		*w = refusing
		for range 4 {
			expect(errWire, "0")
		}
		expect(errWire, "2")
		*w = func(*http.Request) (*http.Response, error) {
			t.Error("asked while the breaker is open")
			return nil, errWire
		}
		expect(ErrCircuitOpen, "2")
		<-time.After(60 * time.Second)
		expect(ErrCircuitOpen, "2")
		<-time.After(time.Nanosecond)

		// Half open: one call is on its way, and no other gets through.
		*w = func(*http.Request) (*http.Response, error) {
			<-time.After(time.Second)
			return nil, errWire
		}
		first := make(chan error)
		go func() { first <- getInfo(t.Context(), c) }()
		synctest.Wait()
		expect(ErrCircuitOpen, "1")
		if err := <-first; !errors.Is(err, errWire) {
			t.Fatalf("the call that gets through is %v, want %v", err, errWire)
		}
		expect(ErrCircuitOpen, "2") // it failed

		<-time.After(61 * time.Second)
		*w = good
		expect(nil, "0")
		expect(nil, "0")
	})
}

func TestWhatABackendRefusesForAReasonDoesNotOpenTheBreaker(t *testing.T) {
	words := `{"error":"because"}`
	provision := func(ctx context.Context, c *HTTPClient) error {
		return c.Provision(ctx, ProvisionRequest{LeaseUUID: someLease})
	}
	restore := func(ctx context.Context, c *HTTPClient) error {
		return c.Restore(ctx, RestoreRequest{LeaseUUID: someLease, FromLeaseUUID: someLease})
	}
	logs := func(ctx context.Context, c *HTTPClient) error {
		_, err := c.GetLogs(ctx, someLease, 1)
		return err
	}
	tests := []struct {
		name  string
		do    func(context.Context, *HTTPClient) error
		wire  wire
		opens bool
	}{
		{"not provisioned", getInfo, answering(404, words), false},
		{"validation", provision, answering(400, `{"error":"x","validation_code":"unknown_sku"}`), false},
		{"a validation code of the future", provision, answering(400, `{"error":"x","validation_code":"new"}`), false},
		{"already provisioned", provision, answering(409, words), false},
		{"insufficient resources", provision, answering(503, words), false},
		{"invalid state", restore, answering(409, ""), false},
		{"not retained", restore, answering(422, words), false},
		{"exceeds the tier", restore, answering(422, `{"error":"x","code":"demote_exceeds_tier"}`), false},
		{"restore refused", restore, answering(422, `{"error":"x","code":"new"}`), false},
		{"logs that are too large", logs, answering(200, strings.Repeat(" ", 20)), false},

		{"a page of a proxy", provision, answering(400, "<html>"), true},
		{"a route that is not there", getInfo, answering(404, "404 page not found"), true},
		{"a fault", getInfo, answering(500, words), true},
		{"a wrong secret", getInfo, answering(401, words), true},
		{"a wrong answer", getInfo, answering(200, "hello"), true},
		{"an answer that is too large", getInfo, answering(200, strings.Repeat(" ", 20)), true},
		{"no connection", getInfo, refusing, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, w := wired(HTTPClientConfig{MaxInfoBytes: 19, MaxLogsBytes: 19})
			*w = tt.wire
			for i := range 5 {
				if err := tt.do(t.Context(), c); err == nil || errors.Is(err, ErrCircuitOpen) {
					t.Fatalf("call %d is %v", i+1, err)
				}
			}
			if err := tt.do(t.Context(), c); errors.Is(err, ErrCircuitOpen) != tt.opens {
				t.Errorf("after five of these the next call is %v", err)
			}
		})
	}
}

func TestACallerWhoLeavesIsNoFailureAndOneWhoseTimeIsUpIs(t *testing.T) {
	hang := func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	synctest.Test(t, func(t *testing.T) {
		c, w := wired(HTTPClientConfig{})
		*w = hang
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if err := getInfo(ctx, c); !errors.Is(err, context.Canceled) {
				t.Fatalf("the call is %v, want %v", err, context.Canceled)
			}
		}
		for range 5 {
			began := time.Now()
			if err := getInfo(t.Context(), c); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
				t.Fatalf("the call is %v after %v, want the end of its 30 s", err, time.Since(began))
			}
		}
		if err := getInfo(t.Context(), c); !errors.Is(err, ErrCircuitOpen) {
			t.Errorf("the call is %v, want %v", err, ErrCircuitOpen)
		}
	})
}

func TestHealthIsAskedWhateverTheBreakerThinks(t *testing.T) {
	c, w := wired(HTTPClientConfig{CBFailureThresh: 1})
	*w = refusing
	_ = getInfo(t.Context(), c)
	if err := getInfo(t.Context(), c); !errors.Is(err, ErrCircuitOpen) {
		t.Fatalf("the breaker is not open: %v", err)
	}
	if err := c.Health(t.Context()); !errors.Is(err, errWire) {
		t.Errorf("the health is %v, want %v", err, errWire)
	}
	*w = answering(200, `{"status":"healthy"}`)
	if err := c.Health(t.Context()); err != nil {
		t.Errorf("the health is %v", err)
	}
	if err := getInfo(t.Context(), c); !errors.Is(err, ErrCircuitOpen) {
		t.Errorf("a good health closed the breaker: %v", err)
	}
}

func TestAListStopsBetweenPages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, w := wired(HTTPClientConfig{})
	asked := 0
	*w = func(r *http.Request) (*http.Response, error) {
		asked++
		cancel() // the page is there all the same
		return answering(200, `{"provisions":[{"lease_uuid":"`+someLease+`"}],"continue":"`+someLease+`"}`)(r)
	}
	got, err := c.ListProvisions(ctx)
	if !errors.Is(err, context.Canceled) || got != nil || asked != 1 {
		t.Errorf("the list is %v, %v after %d pages, want none after 1", got, err, asked)
	}
}

func TestAListHasAnEnd(t *testing.T) {
	c, w := wired(HTTPClientConfig{})
	if c.maxPages != 100_000 {
		t.Errorf("a list may have %d pages, want 100000", c.maxPages)
	}
	c.maxPages = 3
	asked := 0
	*w = func(r *http.Request) (*http.Response, error) {
		asked++
		return answering(200, fmt.Sprintf(`{"retentions":[],"continue":"%09d"}`, asked))(r)
	}
	got, err := c.ListRetentions(t.Context())
	if err == nil || got != nil || asked != 3 || !strings.Contains(err.Error(), "more than 3 pages") {
		t.Errorf("the list is %v, %v after %d pages, want an error after 3", got, err, asked)
	}
}

func TestAListOfMoreThanThereCanBeIsNone(t *testing.T) {
	c, w := wired(HTTPClientConfig{})
	if c.maxListed != 5_000_000 {
		t.Errorf("a list may have %d leases, want 5000000", c.maxListed)
	}
	c.maxListed = 4
	asked := 0
	*w = func(r *http.Request) (*http.Response, error) {
		asked++
		return answering(200, fmt.Sprintf(`{"provisions":[{"lease_uuid":"a"},{"lease_uuid":"b"}],"continue":"%09d"}`, asked))(r)
	}
	got, err := c.ListProvisions(t.Context())
	if err == nil || got != nil || asked != 3 || !strings.Contains(err.Error(), "more than 4 leases") {
		t.Errorf("the list is %v, %v after %d pages, want an error after 3", got, err, asked)
	}
	asked = 0
	*w = func(r *http.Request) (*http.Response, error) {
		asked++
		return answering(200, `{"provisions":[],"continue":"`+strings.Repeat("f", 100_000)+`"}`)(r)
	}
	if _, err := c.ListProvisions(t.Context()); err == nil || asked != 1 || len(err.Error()) > 512 {
		t.Errorf("a token of 100000 bytes is %v after %d pages", err, asked)
	}
}

func TestAnEndlessAnswerIsReadForASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, w := wired(HTTPClientConfig{MaxInfoBytes: 4})
		*w = func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, ContentLength: -1, Body: io.NopCloser(&dripping{ctx: r.Context(), first: bytes.Repeat([]byte(" "), 5)})}, nil
		}
		began := time.Now()
		if err := getInfo(t.Context(), c); !errors.Is(err, ErrResponseTooLarge) {
			t.Errorf("the call is %v, want %v", err, ErrResponseTooLarge)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the call took %v", took)
		}
	})
}

// dripping has its first bytes at once, and none after them until its request ends.
type dripping struct {
	ctx   context.Context
	first []byte
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.first) > 0 {
		n := copy(p, d.first)
		d.first = d.first[n:]
		return n, nil
	}
	<-d.ctx.Done()
	return 0, d.ctx.Err()
}
