package backend_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

// routee is a backend of which a test decides what the router asks.
type routee struct {
	*backend.MockBackend
	load   func(context.Context) (*backend.LoadStats, error)
	health func(context.Context) error
}

func (r *routee) GetLoadStats(ctx context.Context) (*backend.LoadStats, error) {
	if r.load == nil {
		return r.MockBackend.GetLoadStats(ctx)
	}
	return r.load(ctx)
}

func (r *routee) Health(ctx context.Context) error {
	if r.health == nil {
		return nil
	}
	return r.health(ctx)
}

func newRoutee(name string) *routee {
	return &routee{MockBackend: backend.NewMockBackend(backend.MockBackendConfig{Name: name})}
}

// uncomparable is a backend whose type has no ==.
type uncomparable struct {
	*backend.MockBackend
	_ []int
}

func entry(b backend.Backend, skus ...string) backend.BackendEntry {
	return backend.BackendEntry{Backend: b, Match: backend.MatchCriteria{SKUs: skus}}
}

func defaultEntry(b backend.Backend, skus ...string) backend.BackendEntry {
	e := entry(b, skus...)
	e.IsDefault = true
	return e
}

func newRouter(t *testing.T, entries ...backend.BackendEntry) *backend.Router {
	t.Helper()
	return newRouterOf(t, backend.RouterConfig{Backends: entries})
}

func newRouterOf(t *testing.T, cfg backend.RouterConfig) *backend.Router {
	t.Helper()
	r, err := backend.NewRouter(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func nameOf(b backend.Backend) string {
	if b == nil {
		return "<nil>"
	}
	return b.Name()
}

func namesOf(all []backend.Backend) string {
	names := make([]string, len(all))
	for i, b := range all {
		names[i] = nameOf(b)
	}
	return strings.Join(names, " ")
}

func TestARouterRefusesWhatItCannotDecide(t *testing.T) {
	a, b := newRoutee("a"), newRoutee("b")
	odd := uncomparable{MockBackend: a.MockBackend}
	for name, c := range map[string]struct {
		entries []backend.BackendEntry
		says    []string
	}{
		"no backend":              {nil, []string{"there is no backend"}},
		"an entry without one":    {[]backend.BackendEntry{entry(nil, "x")}, []string{"entry 1: it has no backend"}},
		"a backend without name":  {[]backend.BackendEntry{entry(newRoutee(""), "x")}, []string{"entry 1: its backend has no name"}},
		"an empty SKU":            {[]backend.BackendEntry{entry(a, "x", "")}, []string{`backend "a" has an empty SKU`}},
		"two defaults":            {[]backend.BackendEntry{defaultEntry(a), defaultEntry(b)}, []string{"2 entries are the default"}},
		"two of a name":           {[]backend.BackendEntry{entry(a, "x"), entry(newRoutee("a"), "y")}, []string{`entry 2: another backend is called "a" too`}},
		"two of a type without =": {[]backend.BackendEntry{entry(odd, "x"), entry(odd, "y")}, []string{`another backend is called "a" too`}},
		"everything at once": {
			[]backend.BackendEntry{defaultEntry(a), defaultEntry(b), entry(nil), entry(a, "")},
			[]string{"2 entries are the default", "entry 3: it has no backend", "entry 4"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := backend.NewRouter(backend.RouterConfig{Backends: c.entries})
			if r != nil || !errors.Is(err, backend.ErrRouterConfig) {
				t.Fatalf("NewRouter = %v, %v", r, err)
			}
			for _, text := range c.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
		})
	}
}

func TestTheDefaultIsTheOneThatSaysSoElseTheFirst(t *testing.T) {
	a, b := newRoutee("a"), newRoutee("b")
	if got := nameOf(newRouter(t, entry(a, "x"), entry(b, "y")).Default()); got != "a" {
		t.Errorf("without a default it is %s; want the first, a", got)
	}
	if got := nameOf(newRouter(t, entry(a, "x"), defaultEntry(b)).Default()); got != "b" {
		t.Errorf("the default is %s; want b", got)
	}
}

func TestRoutesAreBySKULetterByLetter(t *testing.T) {
	a, b, c := newRoutee("a"), newRoutee("b"), newRoutee("c")
	// b has two entries, and gets "shared" by both.
	r := newRouter(t, entry(a, "small"), entry(b, "shared"), entry(c, "shared", "shared"), defaultEntry(b, "shared", "large"))
	for sku, want := range map[string]struct{ first, all string }{
		"small":  {"a", "a"},
		"shared": {"b", "b c"},
		"large":  {"b", "b"},
		"Small":  {"b", ""},
		"small ": {"b", ""},
		"smal":   {"b", ""},
		"":       {"b", ""},
		"none":   {"b", ""},
	} {
		if got := nameOf(r.Route(sku)); got != want.first {
			t.Errorf("Route(%q) = %s; want %s", sku, got, want.first)
		}
		all := r.RouteAll(sku)
		if got := namesOf(all); got != want.all || (want.all == "") != (all == nil) {
			t.Errorf("RouteAll(%q) = %q (nil: %v); want %q", sku, got, all == nil, want.all)
		}
	}
	if got := namesOf(r.Backends()); got != "a b c" {
		t.Errorf("Backends() = %s; want each once", got)
	}
	for name, want := range map[string]backend.Backend{"a": a, "c": c, "d": nil, "": nil} {
		if got := r.GetBackendByName(name); got != want {
			t.Errorf("GetBackendByName(%q) = %v", name, nameOf(got))
		}
	}
}

func TestCallersMayKeepWhatARouterGave(t *testing.T) {
	a, b := newRoutee("a"), newRoutee("b")
	skus := []string{"x"}
	r := newRouter(t, backend.BackendEntry{Backend: a, Match: backend.MatchCriteria{SKUs: skus}}, entry(b, "x"))
	skus[0] = "changed"
	clear(r.Backends())
	clear(r.RouteAll("x"))
	if got := namesOf(r.Backends()) + ", " + namesOf(r.RouteAll("x")); got != "a b, a b" {
		t.Errorf("a caller changed the router: %s", got)
	}
}

func TestTurnsAreEvenAndSharedByAllSKUs(t *testing.T) {
	a, b, c := newRoutee("a"), newRoutee("b"), newRoutee("c")
	r := newRouter(t, entry(a, "x", "y"), entry(b, "x", "y"), entry(c, "x"))
	var got []string
	for range 6 {
		got = append(got, nameOf(r.RouteRoundRobin("x")))
	}
	if strings.Join(got, " ") != "a b c a b c" {
		t.Errorf("six turns were %v", got)
	}
	first, second := nameOf(r.RouteRoundRobin("y")), nameOf(r.RouteRoundRobin("y"))
	if first == second {
		t.Errorf("two turns of another SKU both went to %s", first)
	}
	if got := nameOf(r.RouteRoundRobin("none")); got != "a" {
		t.Errorf("a SKU that nobody takes went to %s; want the default", got)
	}
}
