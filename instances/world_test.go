package instances_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// canary is a secret that must stand in nothing but user data.
const canary = "canary-5f1c0b7d"

const configText = `{
  "cluster": {"id": "prod"},
  "shard": {
    "name": "one",
    "provider": {"kind": "fake", "region": "here", "zone": "one"},
    "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"},
    "subnet_pools": {"main": ["net-a", "net-b"]},
  },
  "images": {"debian": {"id": "img-1"}, "lost": {"filters": {"name": ["x"]}}},
  "templates": {
    "small": {
      "kind": "wrk", "arch": "amd64", "instance_type": "s1", "subnet_pool": "main",
      "vars": {"colour": "blue"},
      "args": {"image": "{{ .Image.debian }}", "disk": {"gb": 10, "name": "d-{{ .Instance.ID }}"}},
      "userdata": {"content": "id={{ .Instance.ID }} colour={{ .Vars.colour }} db={{ .Secret.db }} nonce={{ .Nonce }} image={{ index .Image \"debian\" }}"},
      "required_secrets": ["db"], "required_images": ["debian"], "required_vars": ["colour"],
    },
    "noimage": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "x"}, "required_images": ["lost"]},
    "novar": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "x"}, "required_vars": ["size"]},
    "nosecret": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "x"}, "required_secrets": ["none"]},
    "badvar": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ .Vars.size }}"}},
    "badindex": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ index .Image \"nope\" }}"}},
    "badnonce": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ len .Nonce }}"}},
    "leakyargs": {"kind": "wrk", "arch": "amd64", "args": {"x": "{{ .Nonce }}"}, "userdata": {"content": "x"}},
    "badtemplate": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ if }}"}},
  },
  "groups": {
    "acme": {"web": {"template": "small", "size": 3}, "extra": {"template": "small"}},
    "other": {"web": {"template": "small"}},
  },
}`

// world is everything that outlives a process, and how to start one.
type world struct {
	t       testing.TB
	clock   *fake.Clock
	cloud   *fake.Cloud
	memory  *storage.Memory
	faulty  *storagetest.Faulty
	secrets secrets.Store
	ids     *id.Generator
	log     *syncBuffer
	term    *termHolder
	text    string
	dir     string
	starts  int
}

func newWorld(t testing.TB, opts ...func(*fake.Options)) *world {
	t.Helper()
	clock := fake.NewClock(time.Time{})
	o := fake.Options{Now: clock.Now, BootTime: 10 * time.Second, StopTime: 5 * time.Second}
	for _, one := range opts {
		one(&o)
	}
	w := &world{
		t: t, clock: clock, cloud: fake.NewCloud(o), memory: storage.NewMemory(storage.WithClock(clock.Now)),
		secrets: secrets.NewMemory(), ids: &id.Generator{Now: clock.Now},
		log: &syncBuffer{}, text: configText, dir: t.TempDir(), term: &termHolder{term: 1},
	}
	w.faulty = storagetest.NewFaulty(w.memory)
	ctx := t.Context()
	must(t, instances.EnsureNonceKey(ctx, w.secrets))
	must(t, w.secrets.Set(ctx, instances.SecretPrefix+"db", libsecrets.NewSecretString(canary)))
	return w
}

// termHolder is a leadership that a test moves.
type termHolder struct {
	mu   sync.Mutex
	term uint64
	lost bool
}

func (h *termHolder) Term() (uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.term, !h.lost
}

func (h *termHolder) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = true
}

// leader is a process that leads the shard.
type leader struct {
	*instances.Manager
	authority *ca.Authority
	db        *localdb.DB
	loader    *config.Loader
	term      *termHolder
}

// start begins a process in the next term, on an empty cache.
func (w *world) start(change ...func(*instances.ManagerOptions)) *leader {
	w.t.Helper()
	w.starts++
	w.term.lose()
	w.term = &termHolder{term: uint64(w.starts)}
	l := &leader{term: w.term}
	ctx := context.Background()
	var err error
	l.authority, err = ca.Open(ctx, ca.Options{Storage: w.memory, Secrets: w.secrets, ClusterID: "prod", Now: w.clock.Now})
	must(w.t, err)
	l.db, err = localdb.Open(ctx, filepath.Join(w.t.TempDir(), "cache.db"))
	must(w.t, err)
	w.t.Cleanup(func() { _ = l.db.Close() })
	l.loader, err = config.NewLoader(config.LoaderOptions{Source: textSource(w.text), Now: w.clock.Now})
	must(w.t, err)
	must(w.t, l.loader.Refresh(ctx))
	opts := instances.ManagerOptions{
		ConfigLoader: l.loader, SecretsStore: w.secrets, Storage: w.faulty, LocalDB: l.db,
		Provider:  w.cloud.Provider(infra.Owner{ClusterID: "prod", Shard: "one"}),
		Authority: l.authority, Logger: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Clock: w.clock.Now, IDs: w.ids, Term: l.term, Readers: 8,
	}
	for _, one := range change {
		one(&opts)
	}
	l.Manager, err = instances.NewManager(opts)
	must(w.t, err)
	return l
}

func (w *world) owner() infra.Owner { return infra.Owner{ClusterID: "prod", Shard: "one"} }

// record reads a record as it is in the store.
func (w *world) objects(prefix string) map[string]string {
	w.t.Helper()
	all, err := w.memory.List(context.Background(), prefix)
	must(w.t, err)
	found := map[string]string{}
	for _, one := range all {
		data, _, err := w.memory.Get(context.Background(), one.Key)
		must(w.t, err)
		found[one.Key] = string(data)
	}
	return found
}

// own are the machines of the shard that are there.
func (w *world) own() []infra.Instance {
	var all []infra.Instance
	for _, one := range w.cloud.Alive() {
		if w.owner().Owns(one.Tags) {
			all = append(all, one)
		}
	}
	return all
}

type textSource string

func (s textSource) Read(context.Context) ([]byte, string, error) { return []byte(s), "1", nil }

type syncBuffer = wiretest.Log

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return key
}

func public(key ed25519.PrivateKey) ed25519.PublicKey {
	p, _ := key.Public().(ed25519.PublicKey)
	return p
}

func web() instances.CreateInstanceRequest {
	return instances.CreateInstanceRequest{Tenant: "acme", Group: "web"}
}

func (w *world) create(l *leader, req instances.CreateInstanceRequest) *instances.CreateInstanceResponse {
	w.t.Helper()
	made, err := l.CreateInstance(w.t.Context(), req)
	must(w.t, err)
	return made
}

func (w *world) register(l *leader, token string, key ed25519.PrivateKey) (*instances.Registration, error) {
	return l.Register(context.Background(), instances.RegisterRequest{Token: token, PublicKey: public(key), PrivateIPv4: "10.9.9.9", Hostname: "web-1"})
}

// noSecrets fails when a token or the canary is anywhere but in user data.
func (w *world) noSecrets(tokens ...string) {
	w.t.Helper()
	places := w.objects("")
	places["the log"] = w.log.String()
	for where, text := range places {
		for _, secret := range append(tokens, canary) {
			if strings.Contains(text, secret) {
				w.t.Errorf("%s holds a secret", where)
			}
		}
	}
}
