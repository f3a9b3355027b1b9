package hostdirtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// StoreIsAwayOrCannotBeRead takes the machines' folder away, and then spoils a record:
// nobody is told that the machine is gone, and it runs on.
func StoreIsAwayOrCannotBeRead(t *testing.T, b Bench) {
	ctx := Patient(t)
	p, req := b.Open(), Request(b.Owner, "")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	away := b.Dir + ".away"
	b.unavailable(ctx, t, "without the folder", p, req,
		func() error { return os.Rename(b.Dir, away) },
		func() error { return os.Rename(away, b.Dir) })
	name := filepath.Join(Home(b.Dir, b.Owner), req.InstanceID, hostdir.RecordFile)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b.unavailable(ctx, t, "with half a record", p, req,
		func() error { return os.WriteFile(name, good[:len(good)/2], 0o600) },
		func() error { return os.WriteFile(name, good, 0o600) })
	b.Running(ctx, p, req.InstanceID)
	b.gone(ctx, t, req.InstanceID, "", nil)
}

// unavailable checks that nobody is told anything about a machine.
func (b Bench) unavailable(ctx context.Context, t testing.TB, how string, p infra.Provider, req infra.CreateInstanceRequest, spoil, mend func() error) {
	t.Helper()
	if err := spoil(); err != nil {
		t.Fatal(err)
	}
	_, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
	deleteErr := p.DeleteInstance(ctx, req.InstanceID, "")
	_, listErr := p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: b.Owner.ClusterID, Shard: b.Owner.Shard})
	_, createErr := p.CreateInstance(ctx, req)
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"status": statusErr, "delete": deleteErr, "list": listErr, "create": createErr} {
		if !errors.Is(err, infra.ErrUnavailable) {
			t.Errorf("%s %s: %v, not ErrUnavailable", what, how, err)
		}
	}
}
