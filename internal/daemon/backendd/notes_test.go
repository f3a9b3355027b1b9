package backendd_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	news chan struct{}
}

func newLines() *lines { return &lines{news: make(chan struct{}, 1)} }

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// wait is until a text was said so often.
func (l *lines) wait(t *testing.T, text string, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for l.count(text) < times {
		select {
		case <-l.news:
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("it was not said %d times: %s\n%s", times, text, l.text.String())
		}
	}
}

// somebody listens on a socket: it answers streams that stay, and all else with little.
func somebody(t *testing.T, socket string) (end func()) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("API-Version", "1.47")
		switch path.Base(r.URL.Path) {
		case "report": // of a data plane
			_, _ = w.Write([]byte(`{"epoch":"a"}` + "\n"))
			fallthrough
		case "events": // of an engine
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(`{"SystemTime":"2026-01-02T03:04:05Z"}`))
		}
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = srv.Serve(l) }()
	end = sync.OnceFunc(func() { _ = srv.Close(); <-ended })
	t.Cleanup(end)
	return end
}

func TestWhoIsMissingIsSaidOnceAndShownUntilHeIsBack(t *testing.T) {
	for _, c := range []struct{ name, socket, settings, gone, back, note, advice string }{
		{
			"the data plane", "plane.sock", "ingress: {wildcard_domain: leases.test, control: plane.sock, dns_gate: {disabled: true}}",
			"the data plane does not answer; leases are not reached by name until it does", "the data plane answers",
			"the data plane does not answer, so that leases are not reached by name: ", "berth-node ingress --control ",
		},
		{
			"the engine", "no-engine.sock", "",
			"the Docker engine is not reachable; nothing is changed until it is", "the Docker engine answers",
			"the Docker engine does not answer, so that leases stay as they are: ", "systemctl start docker",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, log := newHouse(t), newLines()
			h.logger = slog.New(slog.NewTextHandler(log, nil))
			if c.settings != "" {
				h.isolation(c.settings)
			}
			url, _ := h.start()
			noted := func(want string) {
				t.Helper()
				code, body := get(t, url+"/health")
				s, err := h.operator().Status(t.Context())
				shown := strings.Join(s.Notes, "\n")
				if err != nil || strings.Contains(body, c.note) != (want != "") || !strings.Contains(body, want) || !strings.Contains(shown, want) || strings.Contains(shown, c.note) != (want != "") {
					t.Errorf("want %q; health %d %s; stats %q, %v", want, code, body, shown, err)
				}
				if strings.Contains(body, h.dir) {
					t.Errorf("a path is in %s", body)
				}
			}
			log.wait(t, c.gone, 1)
			if log.count(c.advice) != 1 {
				t.Error("it is not said what to do")
			}
			noted(c.note + "its socket is not there")
			end := somebody(t, filepath.Join(h.dir, c.socket))
			log.wait(t, c.back, 1)
			noted("")
			end()
			log.wait(t, c.gone, 2)
			noted(c.note)
			somebody(t, filepath.Join(h.dir, c.socket))
			log.wait(t, c.back, 2)
			noted("")
			if n := log.count("a subscription ended") + log.count("out of reach"); n != 0 {
				t.Errorf("the same is said %d times more", n)
			}
		})
	}
}

func TestHealthThatIsAskedForAgainIsLoggedOnce(t *testing.T) {
	h, log := newHouse(t), newLines()
	h.logger = slog.New(slog.NewTextHandler(log, nil))
	url, _ := h.start()
	for range 5 {
		if code, _ := get(t, url+"/health"); code != http.StatusServiceUnavailable {
			t.Fatalf("it is %d", code)
		}
	}
	if n := log.count("the backend is not healthy"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
}
