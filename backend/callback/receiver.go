package callback

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// Receiver is the handler of the one path to which callbacks are sent.
type Receiver struct {
	cfg    Config
	signed http.Handler
	memory *memory
}

var _ http.Handler = (*Receiver)(nil)

// NewReceiver makes a Receiver, which has nothing to close.
func NewReceiver(cfg Config) *Receiver {
	cfg = cfg.withDefaults()
	r := &Receiver{cfg: cfg, memory: newMemory(cfg.Remember, cfg.Clock)}
	if cfg.Auth != nil {
		r.signed = cfg.Auth.Middleware(MaxBodyBytes, http.HandlerFunc(r.receive))
	}
	return r
}

// ServeHTTP answers one callback.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case req.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		write(w, answer{http.StatusMethodNotAllowed, "method not allowed"})
	case r.signed == nil || r.cfg.Deliver == nil:
		write(w, answer{http.StatusServiceUnavailable, "callbacks are not set up here"})
	default:
		r.signed.ServeHTTP(w, req)
	}
}

// receive has a request that is signed well.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) {
	e, first := r.memory.begin(macOf(req.Header.Get(hmacauth.Header)))
	if e == nil {
		write(w, answer{http.StatusServiceUnavailable, "too many callbacks at once"})
		return
	}
	if first {
		r.settle(e, req)
	}
	select {
	case <-e.done:
		write(w, e.answer)
	case <-req.Context().Done():
		write(w, answer{http.StatusServiceUnavailable, "the first of these callbacks is under way"})
	}
}

// macOf is what makes a signature one: the rest of the header may be written in
// more ways than one, which all are good.
func macOf(header string) string {
	_, mac, _ := strings.Cut(header, ",")
	return strings.ToLower(strings.TrimSpace(mac))
}

// settle finds the answer to a first callback. Only a final one is kept: what the
// sender is to send again must be delivered then.
func (r *Receiver) settle(e *entry, req *http.Request) {
	a := answer{http.StatusInternalServerError, "internal error"}
	defer func() {
		if p := recover(); p != nil {
			r.cfg.Logger.ErrorContext(req.Context(), "a delivery panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		r.memory.settle(e, a, a.code < http.StatusInternalServerError)
	}()
	p, err := decode(req.Body)
	if err != nil {
		a = answer{http.StatusBadRequest, err.Error()}
		return
	}
	// The sender may hang up; others may wait for the same answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), r.cfg.Timeout)
	defer cancel()
	if err := r.cfg.Deliver(ctx, p); err != nil {
		r.cfg.Logger.ErrorContext(ctx, "a callback was not delivered", "lease_uuid", p.LeaseUUID, "status", string(p.Status), "error", err)
		return
	}
	a = answer{code: http.StatusOK}
}

func write(w http.ResponseWriter, a answer) {
	var body any = struct {
		Status string `json:"status"`
	}{"ok"}
	if a.code != http.StatusOK {
		body = backend.ErrorResponse{Error: a.text}
	}
	text, err := json.Marshal(body)
	if err != nil {
		// Structs of strings always encode.
		text = []byte(`{"error":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	// The sender may be gone, which changes nothing.
	_, _ = io.WriteString(w, string(text)+"\n")
}
