package instances_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
)

const exampleText = `{
  "cluster": {"id": "prod"},
  "shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"}},
  "templates": {"small": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "token: {{ .Nonce }}"}}},
  "groups": {"acme": {"web": {"template": "small"}}},
}`

// A machine is made, its agent registers, and it is deleted again.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "instances")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "config.jsonc")
	check(os.WriteFile(path, []byte(exampleText), 0o600))
	loader, err := config.NewLoader(config.LoaderOptions{Source: config.NewFile(path)})
	check(err)
	check(loader.Refresh(ctx))
	objects, keys := storage.NewMemory(), secrets.NewMemory()
	check(instances.EnsureNonceKey(ctx, keys))
	authority, err := ca.Open(ctx, ca.Options{Storage: objects, Secrets: keys, ClusterID: "prod"})
	check(err)
	db, err := localdb.Open(ctx, filepath.Join(dir, "cache.db"))
	check(err)
	defer func() { _ = db.Close() }()
	cloud := fake.NewCloud(fake.Options{Now: time.Now})

	m, err := instances.NewManager(instances.ManagerOptions{
		ConfigLoader: loader, SecretsStore: keys, Storage: objects, LocalDB: db, Authority: authority,
		Provider: cloud.Provider(infra.Owner{ClusterID: "prod", Shard: "one"}),
	})
	check(err)
	check(m.RebuildCache(ctx))
	made, err := m.CreateInstance(ctx, instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
	check(err)

	public, _, err := ed25519.GenerateKey(rand.Reader) // on the machine
	check(err)
	got, err := m.Register(ctx, instances.RegisterRequest{Token: made.RegistrationJWT, PublicKey: public})
	check(err)
	status, err := m.GetInstanceStatusFor(ctx, "acme", made.InstanceID)
	check(err)
	fmt.Println(status.Status, status.State, got.Tenant)

	check(m.DeleteInstanceFor(ctx, "acme", made.InstanceID))
	status, err = m.GetInstanceStatusFor(ctx, "acme", made.InstanceID)
	check(err)
	fmt.Println(status.Status, len(cloud.Alive()))
	// Output:
	// running registered acme
	// deleted 0
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// An instance id and its key in an object store.
func ExampleStorageKey() {
	key, err := instances.StorageKey("knc06bgm7733st2576nx5jht4ecjw")
	fmt.Println(key, err)
	// Output: 01970a1c-e31e-7422-9cd5-e9651d11cc97-knc <nil>
}
