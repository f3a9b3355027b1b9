package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handlers are a well-behaved service; tests replace one of them.
func handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Version", "v1")
			io.WriteString(w, "hello\n")
		},
		"/echo": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Version", "v1")
			body, _ := io.ReadAll(r.Body)
			w.Write(body)
		},
		"/slow": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "slowly\ndone\n") },
		"/sse": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "id: 1\n\n")
		},
		"/ws": func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			kind, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			conn.Write(r.Context(), kind, message)
			conn.Close(websocket.StatusGoingAway, "")
		},
	}
}

// cut begins an answer of 100 bytes and breaks the connection.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, "half")
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func unavailable(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

// closeWith ends a WebSocket with a code.
func closeWith(code websocket.StatusCode) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if conn, err := websocket.Accept(w, r, nil); err == nil {
			conn.Close(code, "")
		}
	}
}

// under runs the load on a service in which some handlers are replaced.
func under(t *testing.T, replaced map[string]http.HandlerFunc, c Config) Report {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range handlers() {
		if r, ok := replaced[path]; ok {
			h = r
		}
		mux.HandleFunc(path, h)
	}
	srv := httptest.NewServer(mux)
	defer srv.Close()
	c.Addr, c.Host = srv.Listener.Addr().String(), "hello.localhost"
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	return Run(ctx, c)
}

func TestAWellBehavedServiceFailsNothing(t *testing.T) {
	first := false
	r := under(t, nil, Config{Rate: 100, Slow: 1, Streams: 1, Sockets: 1, FirstAnswer: func() { first = true }})
	if r.Failed != 0 || len(r.Examples) != 0 {
		t.Errorf("%v, %q", r, r.Examples)
	}
	for _, kind := range []string{plainRequest, slowRequest, eventStream, webSocket} {
		if r.Kinds[kind] == 0 {
			t.Errorf("no %s was made: %v", kind, r.Kinds)
		}
	}
	if !first || r.Versions["v1"] != r.Kinds[plainRequest] {
		t.Errorf("first answer %t, versions %v of %d", first, r.Versions, r.Kinds[plainRequest])
	}
}

func TestWhatAUserWouldSeeFailIsCounted(t *testing.T) {
	plainOnly, sseOnly, slowOnly, wsOnly := Config{Rate: 50}, Config{Streams: 1}, Config{Slow: 1}, Config{Sockets: 1}
	for name, c := range map[string]struct {
		path    string
		handler http.HandlerFunc
		config  Config
		example string
	}{
		"status 503":           {"/", unavailable, plainOnly, "status 503"},
		"status 404":           {"/", http.NotFound, plainOnly, "status 404"},
		"body cut":             {"/", cut, plainOnly, "EOF"},
		"empty body":           {"/", func(http.ResponseWriter, *http.Request) {}, plainOnly, "empty body"},
		"post that loses part": {"/echo", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "b") }, plainOnly, "1 bytes came back of 1024"},
		"slow body cut":        {"/slow", cut, slowOnly, "body cut"},
		"slow without its end": {"/slow", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "slowly\n") }, slowOnly, "without its end"},
		"stream cut":           {"/sse", cut, sseOnly, "cut"},
		"stream refused":       {"/sse", unavailable, sseOnly, "status 503"},
		"socket refused":       {"/ws", unavailable, wsOnly, "status 503"},
		"socket dropped":       {"/ws", cut, wsOnly, "WebSocket"},
		"socket error code":    {"/ws", closeWith(websocket.StatusInternalError), wsOnly, "StatusInternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			r := under(t, map[string]http.HandlerFunc{c.path: c.handler}, c.config)
			if r.Failed == 0 {
				t.Fatalf("nothing failed: %v", r)
			}
			if !strings.Contains(r.Examples[0], c.example) {
				t.Errorf("first failure %q does not say %q", r.Examples[0], c.example)
			}
		})
	}
}

func TestAServerThatRestartsMayCloseASocket(t *testing.T) {
	r := under(t, map[string]http.HandlerFunc{"/ws": closeWith(websocket.StatusServiceRestart)}, Config{Sockets: 1})
	if r.Failed != 0 {
		t.Errorf("%d failed: %q", r.Failed, r.Examples)
	}
}

func TestNobodyListeningIsCounted(t *testing.T) {
	srv := httptest.NewServer(nil)
	addr := srv.Listener.Addr().String()
	srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	r := Run(ctx, Config{Addr: addr, Host: "hello.localhost", Rate: 50, Slow: 1, Streams: 1, Sockets: 1})
	// The end of the run may meet the stream and the WebSocket in the middle of an
	// attempt; what we end ourselves is no failure.
	if r.Requests-r.Failed > 2 || r.Failed < 4 {
		t.Errorf("%d of %d failed", r.Failed, r.Requests)
	}
	if len(r.Examples) > maxExamples {
		t.Errorf("%d examples are kept", len(r.Examples))
	}
}

func TestAStreamThatEndsWithoutADrainIsCounted(t *testing.T) {
	var asked atomic.Int32
	refuse := func(by Origin) error {
		asked.Add(1)
		return errors.New(by.Version + " on " + by.Server + " stays")
	}
	named := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Version", "v1")
			w.Header().Set("X-Served-By", "host1")
			h(w, r)
		}
	}
	r := under(t, map[string]http.HandlerFunc{"/sse": named(handlers()["/sse"]), "/ws": named(handlers()["/ws"])},
		Config{Streams: 1, Sockets: 1, Ended: refuse})
	if r.Failed < 2 || r.Failed != int(asked.Load()) {
		t.Errorf("%d failed, %d ended: %q", r.Failed, asked.Load(), r.Examples)
	}
	if !strings.Contains(r.Examples[0], "v1 on host1 stays") {
		t.Errorf("examples %q", r.Examples)
	}
}

func TestEveryGoodAnswerIsTold(t *testing.T) {
	told := map[string]int{}
	r := under(t, nil, Config{Rate: 100, OnlyGet: true, Answered: func(began time.Time, by Origin) {
		if began.IsZero() || time.Since(began) > time.Minute {
			t.Errorf("it began at %s", began)
		}
		told[by.Version]++
	}})
	if told["v1"] == 0 || told["v1"] != r.Kinds[plainRequest] {
		t.Errorf("told %v of %v", told, r.Kinds)
	}
}

func TestWhatIsHeldOpenIsToldOnceItsAnswerBegins(t *testing.T) {
	var mu sync.Mutex
	told := map[string]int{}
	tag := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Served-By", name)
			handlers()["/"+name](w, r)
		}
	}
	r := under(t, map[string]http.HandlerFunc{"/slow": tag("slow"), "/sse": tag("sse"), "/ws": tag("ws")},
		Config{Slow: 1, Streams: 1, Sockets: 1, Opened: func(began time.Time, by Origin) {
			mu.Lock()
			defer mu.Unlock()
			if began.IsZero() || time.Since(began) > time.Minute {
				t.Errorf("it began at %s", began)
			}
			told[by.Server]++
		}})
	for kind, name := range map[string]string{slowRequest: "slow", eventStream: "sse", webSocket: "ws"} {
		if told[name] == 0 || told[name] > r.Kinds[kind] {
			t.Errorf("told %v of %v", told, r.Kinds)
		}
	}
}

func TestARequestThatTheTransportSendsAgainIsCounted(t *testing.T) {
	// Every connection carries one answer and is closed under the second request.
	var served sync.Map
	r := under(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		if _, again := served.LoadOrStore(r.RemoteAddr, true); again {
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, "hello\n")
	}}, Config{Rate: 50, OnlyGet: true})
	if r.Failed == 0 {
		t.Fatalf("nothing failed: %v", r)
	}
	if !strings.Contains(r.Examples[0], errSentAgain.Error()) {
		t.Errorf("examples %q", r.Examples)
	}
}
