package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// shard is a manager, a cache and a presence in memory, for engine and benchmark.
type shard struct {
	mu      sync.Mutex
	rows    map[string]localdb.Instance
	n       int
	looks   int
	collect int
	quiet   bool
}

func (s *shard) CreateInstance(_ context.Context, req instances.CreateInstanceRequest) (*instances.CreateInstanceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	row := localdb.Instance{
		ID: fmt.Sprintf("wrk%d", s.n), Tenant: req.Tenant, Group: req.Group, ProviderID: "p", Status: "running",
		CreatedAt: time.Now(), RegisteredAt: time.Now(),
	}
	s.rows[row.ID] = row
	return &instances.CreateInstanceResponse{InstanceID: row.ID}, nil
}

func (s *shard) DeleteInstanceFor(_ context.Context, _, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, id)
	return nil
}

func (s *shard) GetInstanceStatusFor(context.Context, string, string) (*instances.InstanceStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return nil, infra.ErrUnavailable
}

func (s *shard) Instances(_ context.Context, q localdb.Query) ([]localdb.Instance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []localdb.Instance
	for _, row := range s.rows {
		if q.Tenant == "" || row.Tenant == q.Tenant && row.Group == q.Group {
			all = append(all, row)
		}
	}
	return all, nil
}

func (s *shard) StartDrain(_ context.Context, id string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[id]
	row.DrainStartedAt = at
	s.rows[id] = row
	return nil
}

func (s *shard) Sign(string) (group.Sign, bool) {
	return group.Sign{HeardAt: time.Now()}, !s.quiet
}

func (s *shard) Collect(context.Context) (instances.CollectReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect++
	if s.collect == 1 {
		return instances.CollectReport{}, errors.New("the bucket is away")
	}
	return instances.CollectReport{Vanished: 1, Left: s.collect}, nil
}

func loader(t testing.TB, groups string) *config.Loader {
	t.Helper()
	text := fmt.Sprintf(configText, "", "", "s1", groups)
	l, err := config.NewLoader(config.LoaderOptions{Source: text1(text)})
	must(t, err)
	must(t, l.Refresh(context.Background()))
	return l
}

type text1 string

func (s text1) Read(context.Context) ([]byte, string, error) { return []byte(s), "1", nil }

func TestTheEngineDrivesGroupsAndTheCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shard{rows: map[string]localdb.Instance{}}
		l := loader(t, `"acme": {"web": {"template": "small", "size": 2}, "db": {"template": "small", "size": 1}}`)
		var engine *reconcile.Engine
		g, err := group.New(group.Options{
			Machines: s, Rows: s, Configs: l, Presence: s, Collector: s,
			Kick: func(k reconcile.Key) { engine.Kick(k) },
		})
		must(t, err)
		engine = reconcile.New(g.Factory, reconcile.Config{List: g.List, Strict: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- engine.Run(ctx) }()
		<-time.After(time.Hour)
		synctest.Wait()
		if len(s.rows) != 3 || s.n != 3 || s.looks != 0 {
			t.Errorf("%d machines, %d made, %d looks", len(s.rows), s.n, s.looks)
		}
		if s.collect < 28 || s.collect > 32 {
			t.Errorf("%d collections in an hour", s.collect)
		}
		for _, key := range []reconcile.Key{group.Key("acme", "web"), group.Key("acme", "db"), group.CollectKey()} {
			out, ok := engine.Results(key)
			if !ok || out.Err != nil || len(out.Conditions) == 0 || out.Conditions[0].Status != reconcile.True {
				t.Errorf("%s: %+v", key, out)
			}
		}
		cancel()
		must(t, <-done)
	})
}

func TestFactoryRefusesWhatIsNoGroup(t *testing.T) {
	s := &shard{rows: map[string]localdb.Instance{}}
	g, err := group.New(group.Options{Machines: s, Rows: s, Configs: loader(t, ""), Presence: s})
	must(t, err)
	for _, key := range []reconcile.Key{{Kind: "application", Name: "a/b"}, {Kind: group.KindGroup, Name: "a"}, group.CollectKey()} {
		if _, err := g.Factory(t.Context(), key); !errors.Is(err, group.ErrKey) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if c, err := g.Factory(t.Context(), group.Key("acme", "none")); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := group.New(group.Options{}); !errors.Is(err, group.ErrOptions) {
		t.Errorf("error %v", err)
	}
}

type oneNode hub.Node

func (n oneNode) Node(id string) (hub.Node, bool) { return hub.Node(n), id == n.InstanceID }

func TestAHubTellsOfPresence(t *testing.T) {
	at := time.Now()
	p := group.FromHub(oneNode{InstanceID: "a", Heartbeat: at, Notice: &wire.Notice{At: at.Add(time.Minute)}})
	got, ok := p.Sign("a")
	if want := (group.Sign{HeardAt: at, Noticed: true, NoticeAt: at.Add(time.Minute)}); !ok || got != want {
		t.Errorf("%+v", got)
	}
	if _, ok := p.Sign("b"); ok {
		t.Error("it knows a stranger")
	}
}

// BenchmarkGroupsAtRest is one pass over 1,000 groups of three machines in which nothing
// is to be done, on a real cache.
func BenchmarkGroupsAtRest(b *testing.B) {
	ctx := context.Background()
	db, err := localdb.Open(ctx, b.TempDir()+"/cache.db")
	must(b, err)
	defer func() { _ = db.Close() }()
	text, rows := "", []localdb.Instance(nil)
	for i := range 1000 {
		text += fmt.Sprintf(`"t%d": {"web": {"template": "small", "size": 3}},`, i)
		for k := range 3 {
			id := fmt.Sprintf("wrk%dx%d", i, k)
			rows = append(rows, localdb.Instance{
				ID: id, Tenant: fmt.Sprintf("t%d", i), Group: "web", ProviderID: id, NonceHash: id, Status: "running",
				IssuedAt: time.Now(), CreatedAt: time.Now(), UpdatedAt: time.Now(), RegisteredAt: time.Now(), RecordVersion: 1, RecordTag: "x",
			})
		}
	}
	must(b, db.ReplaceInstances(ctx, rows))
	s := &shard{}
	g, err := group.New(group.Options{Machines: s, Rows: db, Configs: loader(b, text), Presence: s})
	must(b, err)
	keys, err := g.List(ctx)
	must(b, err)
	if len(keys) != 1000 {
		b.Fatalf("%d groups", len(keys))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range keys {
			c, err := g.Factory(ctx, key)
			must(b, err)
			result, err := c.Reconcile(ctx)
			must(b, err)
			if !slices.ContainsFunc(result.Conditions, func(c reconcile.Condition) bool { return c.Reason == group.ReasonReady }) {
				b.Fatalf("%+v", result)
			}
		}
	}
	if s.n+s.looks > 0 {
		b.Error("a group at rest did something")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/group")
}
