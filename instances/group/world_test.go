package group_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/internal/reconcile"
)

const configText = `{
  "cluster": {"id": "prod"},
  "shard": {
    "name": "one",
    "provider": {"kind": "fake"},
    "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"},
    "timings": {%s "default_drain_timeout": "1m"},
    %s
  },
  "templates": {
    "small": {"kind": "wrk", "arch": "amd64", "instance_type": "%s", "userdata": {"content": "nonce={{ .Nonce }}"}},
  },
  "groups": {%s},
}`

// tick is how much time passes between two passes.
const tick = 5 * time.Second

// world is everything that outlives a process.
type world struct {
	t       testing.TB
	clock   *fake.Clock
	cloud   *fake.Cloud
	memory  *storage.Memory
	faulty  *storagetest.Faulty
	secrets secrets.Store
	ids     *id.Generator
	log     *bytes.Buffer
	source  *source
	nodes   *nodes
	keys    map[string]ed25519.PrivateKey
	joined  map[string]bool
	died    bool // the process is no more
	armed   bool // it dies with the store's fault
	effects effects
	l       *leader
	starts  int
	read    map[string]tagged // records as they were read last, by key
}

// tagged is a record and the tag of its bytes.
type tagged struct {
	tag    string
	record instances.InstanceRecord
}

// effects counts those that are neither the store's nor the provider's, and ends the
// process at one of them.
type effects struct {
	count, at int
	after     bool
}

func newWorld(t testing.TB, size int, opts ...func(*fake.Options)) *world {
	t.Helper()
	clock := fake.NewClock(time.Time{})
	o := fake.Options{Now: clock.Now, BootTime: 10 * time.Second, StopTime: 10 * time.Second, Lingers: 20 * time.Second}
	for _, one := range opts {
		one(&o)
	}
	w := &world{
		t: t, clock: clock, cloud: fake.NewCloud(o), memory: storage.NewMemory(),
		secrets: secrets.NewMemory(), ids: &id.Generator{Now: clock.Now}, log: &bytes.Buffer{},
		source: &source{size: size, kind: "s1"}, nodes: newNodes(), keys: map[string]ed25519.PrivateKey{},
		joined: map[string]bool{}, read: map[string]tagged{},
	}
	w.faulty = storagetest.NewFaulty(w.memory)
	must(t, instances.EnsureNonceKey(t.Context(), w.secrets))
	t.Cleanup(func() {
		if t.Failed() && w.log.Len() < 1<<20 {
			t.Log(w.log.String())
		}
	})
	return w
}

// source is a configuration that changes.
type source struct {
	size    int
	kind    string // instance type: another one is a drift
	expiry  string
	timings string
	absent  bool
	failing bool
}

func (s *source) Read(context.Context) ([]byte, string, error) {
	if s.failing {
		return nil, "", errors.New("the bucket is away")
	}
	groups := fmt.Sprintf(`"acme": {"web": {"template": "small", "size": %d}}`, s.size)
	if s.absent {
		groups = ""
	}
	text := fmt.Sprintf(configText, s.timings, s.expiry, s.kind, groups)
	return []byte(text), text, nil
}

// leader is a process that leads the shard.
type leader struct {
	*instances.Manager
	db     *localdb.DB
	loader *config.Loader
	groups *group.Groups
	term   uint64
	w      *world
	due    map[reconcile.Key]time.Time
	last   map[reconcile.Key]reconcile.Result
	errs   map[reconcile.Key]error
	acting int // passes of groups that had an effect
}

// Term implements instances.Leadership.
func (l *leader) Term() (uint64, bool) { return l.term, l.w.l == l && !l.w.dead() }

// start begins a process in the next term, on an empty cache.
func (w *world) start(change ...func(*group.Options)) *leader {
	w.t.Helper()
	w.starts++
	w.faulty.Reset()
	w.died, w.armed, w.effects = false, false, effects{}
	w.cloud.OnCall(nil)
	if w.l != nil {
		_ = w.l.db.Close()
	}
	l := &leader{w: w, term: uint64(w.starts), due: map[reconcile.Key]time.Time{}, last: map[reconcile.Key]reconcile.Result{}, errs: map[reconcile.Key]error{}}
	w.l = l
	ctx := context.Background()
	authority, err := ca.Open(ctx, ca.Options{Storage: w.memory, Secrets: w.secrets, ClusterID: "prod", Now: w.clock.Now})
	must(w.t, err)
	l.db, err = localdb.Open(ctx, filepath.Join(w.t.TempDir(), "cache.db"))
	must(w.t, err)
	w.t.Cleanup(func() { _ = l.db.Close() })
	l.loader, err = config.NewLoader(config.LoaderOptions{Source: w.source, Now: w.clock.Now})
	must(w.t, err)
	must(w.t, l.loader.Refresh(ctx))
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.String("at", w.clock.Now().Format(time.TimeOnly))
		}
		return a
	}}))
	l.Manager, err = instances.NewManager(instances.ManagerOptions{
		ConfigLoader: l.loader, SecretsStore: w.secrets, Storage: w.faulty, LocalDB: l.db,
		Provider:  listener{w.cloud.Provider(infra.Owner{ClusterID: "prod", Shard: "one"}), w},
		Authority: authority, Logger: log, Clock: w.clock.Now, IDs: w.ids, Term: l, Readers: 4,
		Connected: func(id string) bool { _, ok := w.nodes.Sign(id); return ok },
	})
	must(w.t, err)
	must(w.t, l.RebuildCache(ctx))
	opts := group.Options{
		Machines: l.Manager, Rows: mortal{l.db, w}, Configs: l.loader, Presence: w.nodes, Holder: w.nodes,
		Drainer: mortalDrainer{w}, Collector: l.Manager, Now: w.clock.Now, Logger: log,
		Kick: func(k reconcile.Key) { delete(l.due, k) }, Rand: func() float64 { return 0 },
	}
	for _, one := range change {
		one(&opts)
	}
	l.groups, err = group.New(opts)
	must(w.t, err)
	return l
}

// listener overhears the tokens, as the machines that boot do.
type listener struct {
	infra.Provider
	w *world
}

var nonce = regexp.MustCompile(`nonce=(\S+)`)

func (p listener) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	if found := nonce.FindStringSubmatch(req.UserData.RevealString()); found != nil {
		p.w.nodes.told(req.InstanceID, found[1])
	}
	return p.Provider.CreateInstance(ctx, req)
}

// mortal is a cache whose process may die at any write.
type mortal struct {
	*localdb.DB
	w *world
}

func (m mortal) StartDrain(ctx context.Context, id string, at time.Time) error {
	return m.w.effect(func() error { return m.DB.StartDrain(ctx, id, at) })
}

type mortalDrainer struct{ w *world }

func (d mortalDrainer) Drain(ctx context.Context, id string, deadline time.Time) error {
	return d.w.effect(func() error { return d.w.nodes.Drain(ctx, id, deadline) })
}

func (d mortalDrainer) Drained(ctx context.Context, id string) (bool, error) {
	return d.w.nodes.Drained(ctx, id)
}

var errCut = errors.New("the process was killed")

func (w *world) effect(do func() error) error {
	if w.dead() {
		return errCut
	}
	w.effects.count++
	if w.effects.count == w.effects.at && !w.effects.after {
		w.die()
		return errCut
	}
	err := do()
	if w.effects.count == w.effects.at {
		w.die()
		return errCut
	}
	return err
}

// count is that of all effects.
func (w *world) count() int {
	return w.effects.count + len(w.faulty.Effects()) + w.cloud.Calls("CreateInstance") + w.cloud.Calls("DeleteInstance")
}

func (w *world) die() {
	w.died = true
	w.faulty.Kill()
}

// dead reports whether the process is no more.
func (w *world) dead() bool {
	if w.armed && w.faulty.Pending() == 0 {
		w.die()
	}
	return w.died
}

// nodes are the agents of the machines, as the shard sees them.
type nodes struct {
	mu      sync.Mutex
	tokens  map[string]string
	signs   map[string]group.Sign
	mute    map[string]bool // its agent does nothing any more
	dull    map[string]bool // its agent never registers
	holds   map[string]string
	drained map[string]bool
	busy    bool // drains do not end
	order   []string
}

func newNodes() *nodes {
	return &nodes{
		tokens: map[string]string{}, signs: map[string]group.Sign{}, mute: map[string]bool{},
		dull: map[string]bool{}, holds: map[string]string{}, drained: map[string]bool{},
	}
}

func (n *nodes) told(id, token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tokens[id] = token
}

func (n *nodes) Sign(id string) (group.Sign, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.signs[id]
	return s, ok
}

func (n *nodes) Holds(_ context.Context, id string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.holds[id] == "error" {
		return "", errors.New("the node does not answer")
	}
	return n.holds[id], nil
}

func (n *nodes) Drain(_ context.Context, id string, _ time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.drained[id] {
		n.order = append(n.order, id)
	}
	n.drained[id] = true
	return nil
}

func (n *nodes) Drained(_ context.Context, id string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.drained[id] && !n.busy, nil
}

// agents lets every machine that runs register, and be heard of.
func (w *world) agents() {
	alive := map[string]bool{}
	for _, one := range w.own() {
		if one.Status != infra.StatusRunning || w.nodes.mute[one.InstanceID] {
			continue
		}
		alive[one.InstanceID] = true
		w.agent(one.InstanceID)
	}
	w.nodes.mu.Lock()
	defer w.nodes.mu.Unlock()
	for id := range w.nodes.signs {
		if !alive[id] {
			delete(w.nodes.signs, id)
		}
	}
}

func (w *world) agent(id string) {
	if !w.joined[id] {
		if w.nodes.dull[id] || w.nodes.dull["*"] {
			return
		}
		if w.keys[id] == nil {
			_, key, err := ed25519.GenerateKey(nil)
			must(w.t, err)
			w.keys[id] = key
		}
		public, _ := w.keys[id].Public().(ed25519.PublicKey)
		_, err := w.l.Register(context.Background(), instances.RegisterRequest{Token: w.nodes.tokens[id], PublicKey: public})
		if err != nil {
			return // it asks again, with the same key
		}
		w.joined[id] = true
	}
	w.nodes.mu.Lock()
	defer w.nodes.mu.Unlock()
	s := w.nodes.signs[id]
	s.HeardAt = w.clock.Now()
	w.nodes.signs[id] = s
}

// pass lets a tick of time pass, and everybody do what is due.
func (w *world) pass() {
	w.clock.Advance(tick)
	w.agents()
	l := w.l
	if w.dead() {
		return
	}
	ctx := context.Background()
	keys, err := l.groups.List(ctx)
	must(w.t, err)
	for _, key := range keys {
		if at, ok := l.due[key]; ok && w.clock.Now().Before(at) || w.dead() {
			continue
		}
		before := w.count()
		controller, err := l.groups.Factory(ctx, key)
		var result reconcile.Result
		if err == nil && controller != nil {
			result, err = controller.Reconcile(ctx)
		}
		l.last[key], l.errs[key] = result, err
		if key.Kind == group.KindGroup && w.count() != before {
			l.acting++
		}
		after := result.RequeueAfter
		if err != nil {
			after = tick
		}
		if after == 0 {
			after = 5 * time.Minute // the watchdog
		}
		l.due[key] = w.clock.Now().Add(after)
	}
}

func (w *world) run(d time.Duration) {
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.pass()
		w.bound()
	}
}

// refresh reads the configuration, and wakes the groups.
func (w *world) refresh() {
	_ = w.l.loader.Refresh(context.Background())
	clear(w.l.due)
}

// own are the machines of the shard that are there.
func (w *world) own() []infra.Instance {
	var all []infra.Instance
	owner := infra.Owner{ClusterID: "prod", Shard: "one"}
	for _, one := range w.cloud.Alive() {
		if owner.Owns(one.Tags) {
			all = append(all, one)
		}
	}
	return all
}

// records are those of the shard.
func (w *world) records() []instances.InstanceRecord {
	all, err := w.memory.List(context.Background(), "shard/one/instance/")
	must(w.t, err)
	var records []instances.InstanceRecord
	for _, one := range all {
		if r, ok := w.read[one.Key]; ok && r.tag == one.Tag {
			records = append(records, r.record)
			continue
		}
		data, tag, err := w.memory.Get(context.Background(), one.Key)
		must(w.t, err)
		var r instances.InstanceRecord
		must(w.t, json.Unmarshal(data, &r))
		w.read[one.Key] = tagged{tag, r}
		records = append(records, r)
	}
	return records
}

// members are the ids of machines that are to stay, the oldest first.
func (w *world) members() []string {
	var all []string
	for _, r := range w.records() {
		if !r.State.Leaving() && !r.OnDemand {
			all = append(all, r.InstanceID)
		}
	}
	return all
}

// bound fails when more machines are meant to be there than may be.
func (w *world) bound() {
	w.t.Helper()
	count := 0
	for _, id := range w.members() {
		if s := w.nodes.signs[id]; !s.Noticed {
			count++
		}
	}
	if most := w.most(); count > most {
		w.t.Fatalf("%d machines, at most %d may be", count, most)
	}
}

func (w *world) most() int {
	size := w.source.size
	if w.source.absent {
		size = 0
	}
	if n := len(w.members()); w.died || size < n-1 { // it is being shrunk
		return n
	}
	return size + 1
}

// stable fails unless all is as the configuration says, and no machine is one too many.
func (w *world) stable() {
	w.t.Helper()
	size := w.source.size
	if w.source.absent {
		size = 0
	}
	members, alive := w.members(), map[string]bool{}
	for _, one := range w.own() {
		if alive[one.InstanceID] {
			w.t.Errorf("two machines of %s", one.InstanceID)
		}
		alive[one.InstanceID] = true
	}
	if len(members) != size || len(alive) != size {
		w.t.Errorf("%d records and %d machines, want %d: %s", len(members), len(alive), size, w.conditions())
	}
	for _, r := range w.records() {
		if r.State.Leaving() {
			continue
		}
		if !alive[r.InstanceID] || r.RegisteredAt == nil {
			w.t.Errorf("%s (%s) has no machine, or is not registered", r.InstanceID, r.State)
		}
		if r.Config.InstanceType != w.source.kind {
			w.t.Errorf("%s is of %s, want %s", r.InstanceID, r.Config.InstanceType, w.source.kind)
		}
	}
	for _, e := range w.cloud.History() {
		if e.InstanceID != "" && w.cloud.Made(e.InstanceID) > 1 {
			w.t.Errorf("%s was made twice", e.InstanceID)
		}
	}
}

func (w *world) made() int {
	n := 0
	for _, e := range w.cloud.History() {
		if e.What == "created" {
			n++
		}
	}
	return n
}

func (w *world) conditions() string {
	var b strings.Builder
	for _, c := range w.l.last[group.Key("acme", "web")].Conditions {
		fmt.Fprintf(&b, "%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

func (w *world) reason(kind string) string {
	for _, c := range w.l.last[group.Key("acme", "web")].Conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
