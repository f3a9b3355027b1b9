package probe

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// health is a gRPC server of one call.
type health struct {
	answer  []byte // framed
	code    string // grpc-status; "" leaves it out
	message string
	early   bool // the status is in the header, as of a call that fails at once
	asked   http.Request
	body    []byte
}

func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked = *r
	h.body, _ = io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/grpc+proto")
	status := func(prefix string) {
		if h.code != "" {
			w.Header().Set(prefix+"Grpc-Status", h.code)
			w.Header().Set(prefix+"Grpc-Message", h.message)
		}
	}
	if h.early {
		status("")
		return
	}
	_, _ = w.Write(h.answer)
	status(http.TrailerPrefix)
}

// grpcServer serves HTTP/2 without TLS.
func grpcServer(t *testing.T, handler http.Handler) Spec {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return Spec{Kind: GRPC, Address: s.Listener.Addr().String(), Timeout: 10 * time.Second}
}

// framed is a message that says a status; less than 0 is one that says nothing.
func framed(status int) []byte {
	if status < 0 {
		return make([]byte, grpcPrefix)
	}
	return append([]byte{0, 0, 0, 0, 2, 1 << 3}, byte(status))
}

func TestTheHealthDecides(t *testing.T) {
	for name, tc := range map[string]struct {
		server  health
		service string
		ok      bool
		says    []string
	}{
		"serving":         {health{answer: framed(1), code: "0"}, "", true, []string{"answered SERVING for the health of the server in"}},
		"a service":       {health{answer: framed(1), code: "0"}, "shop.Web", true, []string{`for the health of "shop.Web"`}},
		"not serving":     {health{answer: framed(2), code: "0"}, "", false, []string{"answered NOT_SERVING", "expected SERVING"}},
		"says nothing":    {health{answer: framed(-1), code: "0"}, "", false, []string{"answered UNKNOWN"}},
		"service unknown": {health{answer: framed(3), code: "0"}, "x", false, []string{"answered SERVICE_UNKNOWN"}},
		"from the future": {health{answer: framed(9), code: "0"}, "", false, []string{"answered 9"}},
		"more fields":     {health{answer: []byte{0, 0, 0, 0, 6, 2<<3 | 2, 2, 'a', 'b', 1 << 3, 1}, code: "0"}, "", true, []string{"SERVING"}},
		"not found":       {health{code: "5", message: "no%20such", early: true}, "x", false, []string{`does not know the health of "x"`, `"no such"`}},
		"unimplemented":   {health{code: "12", early: true}, "", false, []string{"does not implement grpc.health.v1.Health"}},
		"unavailable":     {health{code: "14", message: "warming%0Aup"}, "", false, []string{"UNAVAILABLE (14)", `"warming up"`}},
		"a strange code":  {health{code: "99"}, "", false, []string{"status 99 (99)"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := grpcServer(t, &tc.server)
			s.Service = tc.service
			r := Run(t.Context(), &net.Dialer{}, s)
			if r.OK != tc.ok || r.Err != nil || !r.Connected {
				t.Errorf("%+v", r)
			}
			wantSays(t, r, append(tc.says, "grpc://"+s.Address)...)
		})
	}
}

func TestTheCallIsWhatTheProtocolSays(t *testing.T) {
	server := &health{answer: framed(1), code: "0"}
	s := grpcServer(t, server)
	s.Service, s.Host = "shop.Web", "shop.example"
	if r := Run(t.Context(), &net.Dialer{}, s); !r.OK {
		t.Fatal(r.Explain())
	}
	asked := &server.asked
	if asked.Method != http.MethodPost || asked.URL.Path != "/grpc.health.v1.Health/Check" || asked.ProtoMajor != 2 ||
		asked.Host != "shop.example" || asked.Header.Get("Te") != "trailers" || asked.Header.Get("Content-Type") != "application/grpc" {
		t.Errorf("the server got %s %s for %s by %s with %v", asked.Method, asked.URL, asked.Host, asked.Proto, asked.Header)
	}
	if want := "\x00\x00\x00\x00\x0a\x0a\x08shop.Web"; string(server.body) != want {
		t.Errorf("the message is %q, want %q", server.body, want)
	}
}

func TestAnswersThatAreNotGRPC(t *testing.T) {
	plain := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tc := range map[string]struct {
		handler http.Handler
		says    string
	}{
		"a page":          {plain(200, "text/html", "hello"), `the content type is "text/html"`},
		"not there":       {plain(404, "text/plain", "no"), "HTTP status 404"},
		"no status":       {&health{answer: framed(1)}, "it has no grpc-status"},
		"no message":      {&health{code: "0"}, "it is not one message"},
		"half a message":  {&health{answer: framed(1)[:6], code: "0"}, "it is not one message"},
		"two messages":    {&health{answer: append(framed(1), framed(1)...), code: "0"}, "it is not one message"},
		"compressed":      {&health{answer: []byte{1, 0, 0, 0, 0}, code: "0"}, "it is compressed"},
		"a torn field":    {&health{answer: []byte{0, 0, 0, 0, 2, 2<<3 | 2, 9}, code: "0"}, "its message cannot be read"},
		"an endless body": {plain(200, "application/grpc", strings.Repeat("x", 1<<20)), "longer than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Run(t.Context(), &net.Dialer{}, grpcServer(t, tc.handler))
			if r.OK || !errors.Is(r.Err, errNotGRPC) {
				t.Errorf("%+v", r)
			}
			wantSays(t, r, "answered, but not with gRPC: ", tc.says)
		})
	}
}

func TestAGRPCProbeOfAnotherProtocolSaysSo(t *testing.T) {
	s := at(serve(t, answer(http.StatusOK, "")))
	s.Kind = GRPC
	r := Run(t.Context(), &net.Dialer{}, s)
	if r.OK || r.Err == nil {
		t.Errorf("%+v", r)
	}
	wantSays(t, r, "does not speak HTTP/2 without TLS")
	for name, tc := range map[string]struct {
		peer func(net.Conn)
		says string
	}{
		"another protocol": {says("SSH-2.0-OpenSSH_9.9\r\n" + strings.Repeat(" ", 64)), "does not speak HTTP/2"},
		"closes":           {func(net.Conn) {}, "closed the connection without an answer"},
		"silent":           {silent, "did not answer within 3s: it took the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := Run(t.Context(), pipes{peer: tc.peer}, Spec{Kind: GRPC, Address: "10.5.0.7:80", Timeout: 3 * time.Second})
				if r.OK || r.Err == nil {
					t.Errorf("%+v", r)
				}
				wantSays(t, r, tc.says)
			})
		})
	}
}

func TestAGRPCAnswerThatStallsCostsNoMoreThanTheTimeout(t *testing.T) {
	s := grpcServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = w.Write(framed(1))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // the status never comes
	}))
	s.Timeout = 100 * time.Millisecond
	r := Run(t.Context(), &net.Dialer{}, s)
	if r.OK || r.Latency > 5*time.Second {
		t.Errorf("%+v", r)
	}
	wantSays(t, r, "did not answer within 100ms")
}

func TestGRPCOverTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(&health{answer: framed(1), code: "0"})
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	s := Spec{Kind: GRPC, Address: server.Listener.Addr().String(), Scheme: "https", SkipVerify: true, Timeout: 10 * time.Second}
	r := Run(t.Context(), &net.Dialer{}, s)
	if !r.OK {
		t.Errorf("%+v", r)
	}
	wantSays(t, r, "grpcs://"+s.Address+" answered SERVING")
	s.Scheme = ""
	if r := Run(t.Context(), &net.Dialer{}, s); r.OK || r.Err == nil {
		t.Errorf("without TLS: %+v", r)
	}
}

func TestNoMessageTakesTheParserApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		message := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "message")
		raw := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
		if _, err := parseHealth(append(raw, message...)); err != nil && !errors.Is(err, errNotGRPC) {
			t.Fatal(err)
		}
		if _, err := parseHealth(message); err != nil && !errors.Is(err, errNotGRPC) {
			t.Fatal(err)
		}
	})
}

func TestAServiceIsFramedAsItIsLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service := rapid.StringN(0, 300, -1).Draw(t, "service")
		raw := grpcRequest(service)
		if n := binary.BigEndian.Uint32(raw[1:]); int(n) != len(raw)-grpcPrefix {
			t.Fatalf("%d bytes are announced, %d follow", n, len(raw)-grpcPrefix)
		}
		if !strings.HasSuffix(string(raw), service) {
			t.Fatalf("%q is not in %q", service, raw)
		}
		if _, err := parseHealth(raw); err != nil {
			t.Fatalf("what is asked cannot be read: %v", err)
		}
	})
}
