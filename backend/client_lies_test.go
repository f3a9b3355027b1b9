package backend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
)

func TestAnAnswerIsNotBelievedForItsStatus(t *testing.T) {
	bodies := []string{"", "<html>hello</html>", `{"provisions":`, `"yes"`, `{"error":"no"}`, `{} {}`}
	success := map[string]int{"provision": 202, "restart": 202, "update": 202, "restore": 202}
	for op, do := range clientOps {
		if op == "domain" {
			continue // its success has no body
		}
		for _, body := range bodies {
			if body == `{"error":"no"}` && (op == "stats" || op == "info" || op == "logs") {
				continue // any object may be one
			}
			status := max(success[op], 200)
			err := do(t.Context(), clientTo(t, saysJSON(status, body)))
			if !onlyIs(err, nil) || !hasParts(err.Error(), "not one of a backend") {
				t.Errorf("%s answered %d %q is %v, want that this is no answer", op, status, body, err)
			}
		}
	}
}

func TestAListThatIsNotThereIsNotAnEmptyOne(t *testing.T) {
	for _, body := range []string{"null", "{}", "[]", `{"provisions":null,"retentions":null}`, `{"items":[]}`, `{"provisions":[{}],"retentions":[{}]}`, `{"provisions":{},"retentions":{}}`} {
		for _, op := range []string{"list", "lookup", "retentions"} {
			if err := clientOps[op](t.Context(), clientTo(t, saysJSON(200, body))); !onlyIs(err, nil) {
				t.Errorf("%s answered %s is %v, want an error", op, body, err)
			}
		}
	}
}

func TestALookupThatHasPagesIsNotComplete(t *testing.T) {
	c := clientTo(t, saysJSON(200, `{"provisions":[{"lease_uuid":"`+lease1+`"}],"continue":"`+lease1+`"}`))
	if got, err := c.LookupProvisions(t.Context(), []string{lease1, lease2}); err == nil || got != nil {
		t.Errorf("the lookup is %v, %v, want an error alone", got, err)
	}
}

func TestTheProvisionOfAnotherLeaseIsNoAnswer(t *testing.T) {
	c := clientTo(t, saysJSON(200, `{"lease_uuid":"`+lease2+`","status":"ready"}`))
	if got, err := c.GetProvision(t.Context(), lease1); err == nil || got != nil {
		t.Errorf("the provision is %v, %v, want an error alone", got, err)
	}
	if got, err := c.GetProvision(t.Context(), strings.ToUpper(lease2)); err != nil {
		t.Errorf("the provision in capital letters is %v, %v", got, err)
	}
}

func TestEveryAnswerHasABound(t *testing.T) {
	const bound = 200
	pad := func(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }
	tests := map[string]struct {
		body string
		set  func(*backend.HTTPClientConfig)
	}{
		"info":           {`{"host":"h"}`, func(c *backend.HTTPClientConfig) { c.MaxInfoBytes = bound }},
		"provision info": {`{"lease_uuid":"` + lease1 + `"}`, func(c *backend.HTTPClientConfig) { c.MaxProvisionBytes = bound }},
		"list":           {`{"provisions":[]}`, func(c *backend.HTTPClientConfig) { c.MaxProvisionsBytes = bound }},
		"lookup":         {`{"provisions":[]}`, func(c *backend.HTTPClientConfig) { c.MaxLookupProvisionsBytes = bound }},
		"logs":           {`{"app/0":"x"}`, func(c *backend.HTTPClientConfig) { c.MaxLogsBytes = bound }},
		"releases":       {`[]`, func(c *backend.HTTPClientConfig) { c.MaxReleasesBytes = bound }},
		"stats":          {`{"total_cpu_cores":1}`, func(c *backend.HTTPClientConfig) { c.MaxStatsBytes = bound }},
		"retentions":     {`{"retentions":[]}`, func(c *backend.HTTPClientConfig) { c.MaxRetentionsBytes = bound }},
	}
	for op, tt := range tests {
		t.Run(op, func(t *testing.T) {
			if err := clientOps[op](t.Context(), clientTo(t, saysJSON(200, pad(tt.body, bound)), tt.set)); err != nil {
				t.Errorf("an answer of the bound is %v", err)
			}
			c := clientTo(t, saysJSON(200, pad(tt.body, bound+1)), tt.set)
			if err := clientOps[op](t.Context(), c); !onlyIs(err, backend.ErrResponseTooLarge) {
				t.Errorf("a larger one is %v, want %v", err, backend.ErrResponseTooLarge)
			}
		})
	}
}

func TestAnAnswerThatIsTooLargeLeavesItsConnection(t *testing.T) {
	var dials atomic.Int64
	srv := httptest.NewUnstartedServer(saysJSON(200, strings.Repeat(" ", 100<<10)))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dials.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c := backend.NewHTTPClient(backend.HTTPClientConfig{BaseURL: srv.URL, MaxInfoBytes: 10, CBFailureThresh: 1000})
	t.Cleanup(c.Close)
	for range 5 {
		if _, err := c.GetInfo(t.Context(), lease1); !errors.Is(err, backend.ErrResponseTooLarge) {
			t.Fatal(err)
		}
	}
	if got := dials.Load(); got != 1 {
		t.Errorf("%d connections for 5 calls, want 1", got)
	}
	c.Close()
	_, _ = c.GetInfo(t.Context(), lease1)
	if got := dials.Load(); got != 2 {
		t.Errorf("%d connections after Close, want another one", got)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var asked atomic.Int64
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}, func(cfg *backend.HTTPClientConfig) { cfg.CBFailureThresh = 1000 })
	for op, do := range clientOps {
		asked.Store(0)
		if err := do(t.Context(), c); !onlyIs(err, nil) || asked.Load() != 1 {
			t.Errorf("%s is %v after %d requests, want an error after 1", op, err, asked.Load())
		}
	}
}

// raw answers every connection with bytes of its own.
func raw(t *testing.T, answer func(net.Conn)) *backend.HTTPClient {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			buf := make([]byte, 4<<10)
			_, _ = conn.Read(buf)
			answer(conn)
			conn.Close()
		}
	}()
	c := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "b1", BaseURL: "http://" + ln.Addr().String(), Timeout: 10 * time.Second})
	t.Cleanup(func() { c.Close(); ln.Close(); <-done })
	return c
}

func TestAnswersThatBreakOff(t *testing.T) {
	whole := `{"provisions":[]}`
	for name, answer := range map[string]string{
		"before anything":  "",
		"in the headers":   "HTTP/1.1 200 OK\r\nContent-Le",
		"in the body":      fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(whole)+1, whole),
		"between chunks":   fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(whole), whole),
		"of a refusal":     "HTTP/1.1 404 Not Found\r\nContent-Length: 100\r\n\r\n" + `{"error":"gone"}`,
		"and are not HTTP": "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, func(conn net.Conn) { _, _ = io.WriteString(conn, answer) })
			for _, op := range []string{"list", "lookup"} {
				if err := clientOps[op](t.Context(), c); !onlyIs(err, nil) {
					t.Errorf("%s is %v, want an error", op, err)
				}
			}
		})
	}
}

func TestHeadersWithoutAnEndAreNotRead(t *testing.T) {
	var sent atomic.Int64
	c := raw(t, func(conn net.Conn) {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for err == nil && sent.Load() < 64<<20 {
			var n int
			n, err = fmt.Fprintf(conn, "X-%d: %s\r\n", sent.Load(), strings.Repeat("x", 1000))
			sent.Add(int64(n))
		}
	})
	err := clientOps["info"](t.Context(), c)
	if !onlyIs(err, nil) {
		t.Errorf("the answer is %v, want an error", err)
	}
	if sent.Load() >= 64<<20 {
		t.Errorf("%d bytes of headers were taken", sent.Load())
	}
}

func TestASlowBackendHasTheTimeout(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the answer": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			_, _ = io.WriteString(w, `{"host":`)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientTo(t, handler, func(cfg *backend.HTTPClientConfig) { cfg.Timeout = 30 * time.Millisecond })
			err := clientOps["info"](t.Context(), c)
			if !errors.Is(err, context.DeadlineExceeded) || !hasParts(err.Error(), "no complete answer within 30ms") {
				t.Errorf("the call is %v, want that its time was up", err)
			}
		})
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := clientTo(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if err := clientOps["info"](ctx, c); !errors.Is(err, context.Canceled) || !hasParts(err.Error(), "the caller did not wait") {
		t.Errorf("the call is %v, want that its caller left", err)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	labels := []string{"backend", "operation", "status"}
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, labels)
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "request_seconds"}, labels)
	var asked atomic.Int64
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1:
			saysJSON(200, `{"provisions":[{"lease_uuid":"`+lease1+`"}],"continue":"`+lease1+`"}`)(w, r)
		case 2:
			saysJSON(200, `{"provisions":[{"lease_uuid":"`+lease2+`"}]}`)(w, r)
		default:
			saysJSON(404, `{"error":"gone"}`)(w, r)
		}
	}, func(cfg *backend.HTTPClientConfig) { cfg.RequestsTotal, cfg.RequestDuration = total, took })
	if _, err := c.ListProvisions(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _ = c.GetInfo(t.Context(), lease1)
	_, _ = c.GetInfo(t.Context(), "no UUID")
	got := metricValues(t, total)
	if len(got) != 2 || got["b1,list_provisions,success"] != 2 || got["b1,get_info,error"] != 1 {
		t.Errorf("the requests are %v", got)
	}
	if got := metricValues(t, took); len(got) != 2 {
		t.Errorf("the durations are those of %v", got)
	}
}
