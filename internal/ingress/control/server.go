package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// maxTableBytes bounds a pushed table.
const maxTableBytes = 64 << 20

// Server answers owners on the control socket.
type Server struct {
	plane *Plane
	log   *slog.Logger
	http  *http.Server
	hub   *hub
	heirs *Handover // nil: it cannot hand over
	heir  sync.WaitGroup

	drained chan struct{} // closed when nothing can be in flight any more

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// NewServer serves plane. Peers must be allowed by allow, which gets their user
// id; nil allows root and this process's own user. With heirs it can hand over.
func NewServer(log *slog.Logger, plane *Plane, heirs *Handover, allow func(uid uint32) bool) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{plane: plane, log: log, hub: newHub(plane), heirs: heirs, cancel: cancel, drained: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/hello", s.hello)
	mux.HandleFunc("PUT /v1/tables/{owner}", s.push)
	mux.HandleFunc("PUT /v1/cluster", s.pushCluster)
	mux.HandleFunc("GET /v1/report", s.report)
	mux.HandleFunc("POST "+handoverPath, s.handover)
	if allow == nil {
		allow = rootOrSelf
	}
	s.http = &http.Server{
		Handler:           requirePeer(allow, mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withPeer,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.done.Go(func() { s.hub.run(ctx) })
	return s
}

// Serve takes connections from l until Close; it closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Drained tells the successor that nothing is in flight any more. It is called
// once.
func (s *Server) Drained() {
	close(s.drained)
	s.heir.Wait()
}

// Close ends the report streams and waits for pushes under way until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	s.cancel()
	err := s.http.Shutdown(ctx)
	s.done.Wait()
	return err
}

func (s *Server) hello(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, s.plane.Hello())
}

func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	t, err := decodeTable(w, r)
	if err == nil {
		var ack table.Ack
		if ack, err = s.plane.Push(t); err == nil {
			answer(w, http.StatusOK, ack)
			return
		}
	}
	s.log.Warn("push refused", "owner", r.PathValue("owner"), "version", t.Version, "error", err)
	refuse(w, err)
}

// decodeTable reads the protocol number first: a table of another protocol may
// have any other shape.
func decodeTable(w http.ResponseWriter, r *http.Request) (table.Table, error) {
	var t table.Table
	var raw json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxTableBytes)).Decode(&raw); err != nil {
		return t, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	var head struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return t, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	if head.Protocol != table.Protocol {
		return t, fmt.Errorf("%w: the table speaks protocol %d, this data plane %d; restart whichever is older with the newer build", table.ErrProtocol, head.Protocol, table.Protocol)
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	if string(t.Owner) != r.PathValue("owner") {
		return t, fmt.Errorf("%w: a table of owner %q was pushed to %s", table.ErrInvalid, t.Owner, r.URL.Path)
	}
	return t, nil
}

func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	ch := s.hub.join()
	if ch == nil {
		answer(w, http.StatusServiceUnavailable, table.Problem{Code: "busy", Message: "too many report streams are open"})
		return
	}
	defer s.hub.leave(ch)
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case rep := <-ch:
			_ = rc.SetWriteDeadline(time.Now().Add(30 * time.Second))
			if enc.Encode(rep) != nil || rc.Flush() != nil {
				return
			}
		}
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, table.ErrInvalid):
		status = http.StatusUnprocessableEntity
	case errors.Is(err, errHandingOver):
		status = http.StatusServiceUnavailable
	case errors.Is(err, table.ErrProtocol):
		status = http.StatusBadRequest
	case errors.Is(err, table.ErrOldVersion), errors.Is(err, table.ErrSameVersion), errors.Is(err, table.ErrClaimed):
		status = http.StatusConflict
	}
	p := table.Problem{Code: table.Code(err), Message: err.Error()}
	var claimed *table.ClaimedError
	if errors.As(err, &claimed) {
		p.Claimed = claimed.Claims
	}
	answer(w, status, p)
}
