package backend

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// ErrRouterConfig: a router cannot be made of what it was given. The text names
// everything that is wrong.
var ErrRouterConfig = errors.New("invalid router configuration")

// MatchCriteria says which leases a backend takes.
type MatchCriteria struct {
	// SKUs are compared as they are, letter by letter.
	SKUs []string
}

// BackendEntry is a backend with the leases it takes.
type BackendEntry struct {
	Backend   Backend
	Match     MatchCriteria
	IsDefault bool // takes what nobody else does
}

// RouterConfig is what a Router knows.
type RouterConfig struct {
	// Backends are in the order in which they are preferred. A backend may be in
	// several entries; two backends of one name may not. At most one entry is the
	// default, and without any the first one is.
	Backends []BackendEntry

	// Metrics, each left out when nil. Nothing is registered here.
	BackendHealthy    *prometheus.GaugeVec // label backend; 1 healthy, 0 not, as HealthCheck found it last
	AllocatedCPURatio *prometheus.GaugeVec // label backend; as RouteForProvision saw it last
	RoutingFallback   prometheus.Counter   // provisions routed without knowing any load
}

// Router knows several backends, and which of them takes a lease. It does not
// change, and its methods may be called by many at once.
type Router struct {
	all      []routed // each once, in the order of the entries
	byName   map[string]Backend
	bySKU    map[string][]routed // never empty, in the order of the entries
	fallback Backend
	turn     atomic.Uint64 // of everybody who takes turns

	healthy       *prometheus.GaugeVec
	allocated     *prometheus.GaugeVec
	withoutSignal prometheus.Counter
}

// routed is a backend under the name it had when the router was made.
type routed struct {
	name    string
	backend Backend
}

// NewRouter makes a router. Its error is an ErrRouterConfig.
func NewRouter(cfg RouterConfig) (*Router, error) {
	r := &Router{
		byName: map[string]Backend{}, bySKU: map[string][]routed{},
		healthy: cfg.BackendHealthy, allocated: cfg.AllocatedCPURatio, withoutSignal: cfg.RoutingFallback,
	}
	var problems []error
	if len(cfg.Backends) == 0 {
		problems = append(problems, errors.New("there is no backend"))
	}
	defaults := 0
	for i, entry := range cfg.Backends {
		if err := r.add(entry); err != nil {
			problems = append(problems, fmt.Errorf("entry %d: %w", i+1, err))
			continue
		}
		if entry.IsDefault {
			r.fallback = entry.Backend
			defaults++
		}
	}
	if defaults > 1 {
		problems = append(problems, fmt.Errorf("%d entries are the default; one may be", defaults))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrRouterConfig, errors.Join(problems...))
	}
	if r.fallback == nil {
		r.fallback = r.all[0].backend
	}
	return r, nil
}

// add takes one entry in.
func (r *Router) add(entry BackendEntry) error {
	if entry.Backend == nil {
		return errors.New("it has no backend")
	}
	b := routed{entry.Backend.Name(), entry.Backend}
	if b.name == "" {
		return errors.New("its backend has no name")
	}
	if slices.Contains(entry.Match.SKUs, "") {
		return fmt.Errorf("backend %q has an empty SKU", b.name)
	}
	switch known, there := r.byName[b.name]; {
	case !there:
		r.byName[b.name] = b.backend
		r.all = append(r.all, b)
	case !sameBackend(known, b.backend):
		return fmt.Errorf("another backend is called %q too", b.name)
	}
	for _, sku := range entry.Match.SKUs {
		// Several entries may give a backend a SKU; it is asked once all the same.
		if !slices.ContainsFunc(r.bySKU[sku], func(o routed) bool { return o.name == b.name }) {
			r.bySKU[sku] = append(r.bySKU[sku], b)
		}
	}
	return nil
}

// sameBackend is a == b also for types that have no ==, of which no two are the
// same.
func sameBackend(a, b Backend) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// Backends is every backend once, in the order of the entries.
func (r *Router) Backends() []Backend { return backendsOf(r.all) }

// Default is the backend that takes what nobody else does. It is never nil.
func (r *Router) Default() Backend { return r.fallback }

// GetBackendByName is the backend of that name, or nil.
func (r *Router) GetBackendByName(name string) Backend { return r.byName[name] }

// backendsOf is a slice that the caller may keep.
func backendsOf(all []routed) []Backend {
	out := make([]Backend, len(all))
	for i, b := range all {
		out[i] = b.backend
	}
	return out
}
