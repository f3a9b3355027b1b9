package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// world is what a table-driven proxy must look like from outside.
type world struct {
	p      *Proxy
	routes map[string][]string // service -> target ids in the table
	weight map[string]int
	refuse map[string]bool // targets whose dial fails
	open   []*exchange
}

func (m *world) in(id string) bool {
	for _, ids := range m.routes {
		for _, i := range ids {
			if i == id {
				return true
			}
		}
	}
	return false
}

func (m *world) load(id string) int {
	n := 0
	for _, x := range m.open {
		if x.t.id == id {
			n++
		}
	}
	return n
}

var (
	modelServices = []string{"s0", "s1"}
	modelTargets  = map[string][]string{"s0": {"a", "b", "c"}, "s1": {"d", "e"}}
)

func modelAddress(id string) string { return fmt.Sprintf("10.0.0.1:%d", 1000+int(id[0])) }

func (m *world) swap(t *rapid.T) {
	m.routes = map[string][]string{}
	var rs []table.Route
	for _, s := range modelServices {
		if rapid.IntRange(0, 5).Draw(t, "routed "+s) == 0 {
			continue
		}
		r := table.Route{Service: s, Hosts: []string{s}, Path: "/", DrainTimeout: time.Hour}
		m.routes[s] = nil
		for _, id := range modelTargets[s] {
			if w := rapid.IntRange(0, 3).Draw(t, "weight of "+id); w > 0 {
				m.weight[id] = w
				m.routes[s] = append(m.routes[s], id)
				r.Targets = append(r.Targets, table.Target{ID: id, Address: modelAddress(id), Weight: w})
			}
		}
		rs = append(rs, r)
	}
	m.p.Swap(Owned{Table: table.Table{Routes: rs}})
}

// request sends one request as far as its target.
func (m *world) request(t *rapid.T) {
	s := rapid.SampledFrom(modelServices).Draw(t, "service")
	x := newExchange(m.p, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://"+s+"/", nil))
	rt := m.p.snap.Load().match(x.host, x.path)
	ids, routed := m.routes[s]
	if (rt != nil) != routed {
		t.Fatalf("service %s: routed %v, want %v", s, rt != nil, routed)
	}
	if rt == nil {
		return
	}
	var can []string
	for _, id := range ids {
		if !m.refuse[id] {
			can = append(can, id)
		}
	}
	// A pooled connection may go to a target that refuses new ones.
	x.fresh = rapid.Bool().Draw(t, "fresh connection")
	err := x.tryTargets(rt)
	if !x.fresh {
		if can = ids; err != nil {
			return
		}
	}
	if len(can) == 0 {
		if err == nil {
			t.Fatalf("service %s has no target that answers, yet %s took the request", s, x.t.id)
		}
		return
	}
	if err != nil {
		t.Fatalf("service %s: %v, though %v answer", s, err, can)
	}
	got := x.t.id
	ok := false
	for _, id := range can {
		ok = ok || id == got
		// The one picked had the least load for its weight, unless one that just
		// failed was in its rest.
		if (m.load(id)+1)*m.weight[got] < (m.load(got)+1)*m.weight[id] && m.p.targets[targetKey{id, modelAddress(id), ""}].badTill.Load() == 0 {
			t.Fatalf("%s was picked with %d in flight at weight %d; %s has %d at %d", got, m.load(got), m.weight[got], id, m.load(id), m.weight[id])
		}
	}
	if !ok {
		t.Fatalf("service %s went to %s; its targets that answer are %v", s, got, can)
	}
	m.open = append(m.open, x)
}

func (m *world) finish(t *rapid.T) {
	if len(m.open) == 0 {
		t.Skip("nothing in flight")
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "which")
	x := m.open[i]
	m.open = append(m.open[:i], m.open[i+1:]...)
	x.detach(rapid.Bool().Draw(t, "reusable"))
	x.detach(false) // a second time changes nothing
}

func (m *world) check(t *rapid.T) {
	var got, want []string
	for _, tr := range m.p.Report().Targets {
		got = append(got, fmt.Sprintf("%s:%d:%v", tr.ID, tr.InFlight, tr.Draining))
		if tr.Draining == tr.DrainingSince.IsZero() {
			t.Fatalf("%+v: draining and since disagree", tr)
		}
	}
	for _, s := range modelServices {
		for _, id := range modelTargets[s] {
			if in, n := m.in(id), m.load(id); in || n > 0 {
				want = append(want, fmt.Sprintf("%s:%d:%v", id, n, !in))
			}
		}
	}
	sort.Strings(got)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the report has %v, want %v", got, want)
	}
	for k, tg := range m.p.targets {
		if n := tg.inFlight(); n < 0 || n > int64(len(m.open)) {
			t.Fatalf("%s has %d in flight", k.id, n)
		}
		if tg.removed() && len(tg.idle) > 0 {
			t.Fatalf("%s has left the table and keeps %d idle connections", k.id, len(tg.idle))
		}
	}
}

func TestTheReportAndThePicksFollowTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &world{routes: map[string][]string{}, weight: map[string]int{}, refuse: map[string]bool{}}
		m.p = New(Config{Log: slog.New(slog.DiscardHandler), Dial: func(_ context.Context, address string) (net.Conn, error) {
			for _, ids := range modelTargets {
				for _, id := range ids {
					if modelAddress(id) == address && m.refuse[id] {
						return nil, errors.New("refused")
					}
				}
			}
			c, other := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, other) }()
			return c, nil
		}})
		defer m.p.Close()
		defer func() {
			for _, x := range m.open {
				x.detach(false)
			}
		}()
		t.Repeat(map[string]func(*rapid.T){
			"swap":    m.swap,
			"request": m.request,
			"finish":  m.finish,
			"refuse": func(t *rapid.T) {
				id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "target")
				m.refuse[id] = !m.refuse[id]
			},
			"": m.check,
		})
	})
}

// container is a backend that can be stopped for good.
type container struct {
	server  *httptest.Server
	stopped atomic.Bool
}

func newContainer(violations *atomic.Int64) *container {
	c := &container{}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.stopped.Load() {
			violations.Add(1)
		}
		_, _ = io.Copy(w, r.Body)
	}))
	return c
}

func TestNoRequestFailsOrReachesAStoppedTargetWhileTargetsComeAndGo(t *testing.T) {
	r := newRig(t, nil)
	var violations, requests atomic.Int64
	stop := make(chan struct{})
	current := newContainer(&violations)
	r.serve(address(current.server))

	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				method := []string{http.MethodGet, http.MethodPost}[(i+n)%2]
				res, err := r.client.Do(r.request(method, "/", nil))
				if err != nil {
					t.Errorf("%s: %v", method, err)
					return
				}
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != 200 {
					t.Errorf("%s: status %d, %v", method, res.StatusCode, err)
					return
				}
				requests.Add(1)
			}
		})
	}
	for range 15 {
		next := newContainer(&violations)
		r.serve(address(next.server))
		before := requests.Load()
		old := "c-" + address(current.server)
		until(t, "the old target is drained", func() bool { _, there := r.report(old); return !there })
		current.stopped.Store(true)
		current.server.Close()
		current = next
		until(t, "requests go on", func() bool { return t.Failed() || requests.Load() > before+20 })
	}
	close(stop)
	workers.Wait()
	current.server.Close()
	if n := violations.Load(); n > 0 {
		t.Errorf("%d requests reached a target that had been reported as drained", n)
	}
}
