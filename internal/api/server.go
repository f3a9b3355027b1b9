package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/berth-cloud/berth/internal/wire"
)

const (
	maxBody         = 64 << 10 // bytes of a request, unless the route says otherwise
	bodyReadTimeout = 10 * time.Second
	answerTimeout   = 30 * time.Second // for writing an answer that is no stream
)

// Server is the API. It is an [http.Handler]; [Serve] runs it.
type Server struct {
	deps    Deps
	log     *slog.Logger
	started time.Time
	mux     *http.ServeMux
	routes  []route
	hub     *hub
	streams chan struct{} // one token for each open stream
	execs   chan struct{} // one token for each command in a container
	closing chan struct{} // closed when streams must end
}

var _ http.Handler = (*Server)(nil)

// New builds the API. It fails when a route does not say who may call it.
func New(deps Deps) (*Server, error) {
	if deps.Store == nil {
		return nil, errors.New("the API needs a store")
	}
	deps = deps.withDefaults()
	s := &Server{
		deps:    deps,
		log:     deps.Logger,
		started: deps.Now(),
		hub:     newHub(),
		streams: make(chan struct{}, deps.MaxStreams),
		execs:   make(chan struct{}, deps.MaxExecs),
		closing: make(chan struct{}),
	}
	var err error
	if s.routes, err = s.build(allRoutes); err != nil {
		return nil, err
	}
	return s, nil
}

// allRoutes register every route, group by group.
var allRoutes = []func(*Server, *registrar){
	(*Server).registerApply,
	(*Server).registerRollback,
	(*Server).registerRestart,
	(*Server).registerScale,
	(*Server).registerApps,
	(*Server).registerContainers,
	(*Server).registerNodes,
	(*Server).registerExec,
	(*Server).registerSecrets,
	(*Server).registerWorkloads,
	(*Server).registerWorkloadVerbs,
	(*Server).registerWorkloadStreams,
	(*Server).registerWorkloadExec,
	(*Server).registerMachines,
	(*Server).registerAttempts,
	(*Server).registerLogs,
	(*Server).registerInfo,
}

// build makes a fresh mux of the routes.
func (s *Server) build(groups []func(*Server, *registrar)) ([]route, error) {
	s.mux = http.NewServeMux()
	api := humago.New(s.mux, config(s.deps.Version))
	api.UseMiddleware(s.guard)
	r := &registrar{api: api}
	for _, register := range groups {
		register(s, r)
	}
	return r.routes, r.check()
}

func config(version string) huma.Config {
	c := huma.DefaultConfig("Berth", version)
	c.Info.Description = "Everything that Berth does is asked for here. Failures are RFC 9457 problem documents whose type names the kind of failure."
	// The framework's own routes would have no rule; /openapi.json is one of ours.
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil
	c.Transformers = []huma.Transformer{unify}
	return c
}

// ServeHTTP answers one request; whatever goes wrong is a problem document.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &answer{ResponseWriter: w}
	defer s.recovered(r.Context(), out)
	// Also takes back the deadline that an earlier stream left behind on the
	// connection.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.noRoute(out, r)
		return
	}
	s.mux.ServeHTTP(out, r)
}

// noRoute answers a request that no route takes.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) {
	var allow []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		writeProblem(w, notFound("there is no "+r.URL.Path+" here", "GET /openapi.json lists every route."))
		return
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	writeProblem(w, &wire.Problem{
		Type: wire.ProblemMethod, Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
		Detail: r.Method + " is not possible on " + r.URL.Path, Hint: "Possible: " + strings.Join(allow, ", ") + ".",
	})
}

// recovered keeps a panic in one request from ending the daemon.
func (s *Server) recovered(ctx context.Context, w *answer) {
	r := recover()
	if r == nil {
		return
	}
	if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(r)
	}
	if w.begun {
		// Mostly a caller that went away in the middle of the answer.
		s.log.DebugContext(ctx, "answer broken off", "cause", r)
		return
	}
	s.log.ErrorContext(ctx, "panic in a request", "cause", r, "stack", string(debug.Stack()))
	writeProblem(w, &wire.Problem{
		Type: wire.ProblemInternal, Title: "Internal error", Status: http.StatusInternalServerError,
		Detail: "the daemon met a fault of its own; its log has the details",
	})
}

// answer remembers whether an answer has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(code int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(code)
}

func (a *answer) Write(p []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(p)
}

// Unwrap lets a response controller reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
