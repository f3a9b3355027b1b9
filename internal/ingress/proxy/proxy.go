package proxy

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Proxy is the HTTP data plane. It is an [http.Handler]; its methods may be
// called from any goroutine.
type Proxy struct {
	cfg  Config
	log  *slog.Logger
	snap atomic.Pointer[snapshot]

	changes *changes
	held    atomic.Int64
	leaving atomic.Bool // the server stops: streams that begin now end at once
	ids     *requestIDs
	quiet   *quietLog

	mu       sync.Mutex
	targets  map[targetKey]*target
	services map[string]*service

	sweeper sweeper
}

var _ http.Handler = (*Proxy)(nil)

// New is a proxy without routes. [Proxy.Close] ends what it started.
func New(cfg Config) *Proxy {
	cfg = cfg.withDefaults()
	p := &Proxy{
		cfg:      cfg,
		log:      cfg.Log,
		changes:  newChanges(),
		ids:      newRequestIDs(),
		quiet:    newQuietLog(cfg.Log, cfg.Now, time.Second),
		targets:  make(map[targetKey]*target),
		services: make(map[string]*service),
	}
	p.snap.Store(&snapshot{changed: make(chan struct{})})
	p.sweeper.start(p)
	return p
}

// acmePath is looked at before any route, so that no app can shadow it.
const acmePath = "/.well-known/acme-challenge/"

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, acmePath) {
		p.serveACME(w, r)
		return
	}
	if r.Method == http.MethodConnect {
		p.page(w, r, pageMethod)
		return
	}
	x := newExchange(p, w, r)
	defer x.finish()
	x.run()
}

func (p *Proxy) serveACME(w http.ResponseWriter, r *http.Request) {
	if p.cfg.ACME == nil {
		p.page(w, r, pageNoChallenge)
		return
	}
	p.cfg.ACME.ServeHTTP(w, r)
}

// Report is what the proxy knows of its traffic; epoch and versions are the
// caller's. Targets are in no order.
func (p *Proxy) Report() table.Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	rep := table.Report{
		Targets: make([]table.TargetReport, 0, len(p.targets)),
		Holding: map[string]int{},
		Failed:  map[string]int64{},
	}
	for name, s := range p.services {
		if n := s.held.Load(); n > 0 {
			rep.Holding[name] = int(n)
		}
		if n := s.failed.Load(); n > 0 {
			rep.Failed[name] = n
		}
	}
	at := make(map[string]int, len(p.targets))
	for k, t := range p.targets {
		n := int(t.inFlight())
		draining := t.removed()
		if draining && n == 0 {
			p.forgetLocked(k, t)
			continue
		}
		tr := table.TargetReport{ID: t.id, Service: t.service, InFlight: n, Draining: draining, DrainingSince: t.drainingSince}
		i, twice := at[t.id]
		if !twice {
			at[t.id] = len(rep.Targets)
			rep.Targets = append(rep.Targets, tr)
			continue
		}
		// The id lives on at another address: one line, and it drains only
		// when both do.
		merged := &rep.Targets[i]
		merged.InFlight += n
		if !draining {
			merged.Draining, merged.DrainingSince = false, time.Time{}
		}
	}
	return rep
}

// Changed receives once there is something new to report; see [changes].
func (p *Proxy) Changed() <-chan struct{} { return p.changes.notify }

// Touch marks the report as changed.
func (p *Proxy) Touch() { p.changes.now() }

// ChangeIsUrgent says whether somebody waits for what changed. Seen clears
// both marks; call it before [Proxy.Report].
func (p *Proxy) ChangeIsUrgent() bool { return p.changes.urgent.Load() }

// Seen clears the marks of [Proxy.Changed] and [Proxy.ChangeIsUrgent].
func (p *Proxy) Seen() {
	p.changes.urgent.Store(false)
	p.changes.dirty.Store(false)
}
