package hostdir_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
)

var owner = infra.Owner{ClusterID: "hostdir-suite", Shard: "one"}

// record has a word of its own beside what every record has.
type record struct {
	hostdir.Record
	Word string
}

const (
	idPrefix  = "standin-"
	lifeFile  = "life"
	aliveFile = "alive"
)

// standIn is a provider whose machines are a file each, which is there while they run.
type standIn struct {
	host *hostdir.Machines[record, *record]
	// full is a host without room.
	full bool
}

var _ hostdirtest.Provider = (*standIn)(nil)

func open(t testing.TB, dir string, o infra.Options) *standIn {
	t.Helper()
	p := &standIn{}
	var err error
	p.host, err = hostdir.New(dir, o, hostdir.Maker[record]{
		IDPrefix: idPrefix, LifeFile: lifeFile, Patience: time.Second,
		Load: load, Save: save, Accept: accept, Reserve: p.reserve, Build: p.build, Seen: seen, Remove: p.remove,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load(root *os.Root) (r record, err error) {
	raw, err := root.ReadFile(hostdir.RecordFile)
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

func save(root *os.Root, r record) error {
	raw, err := json.Marshal(r)
	if err == nil {
		err = root.WriteFile(hostdir.RecordFile+hostdir.Unfinished, raw, 0o600)
	}
	if err == nil {
		err = root.Rename(hostdir.RecordFile+hostdir.Unfinished, hostdir.RecordFile)
	}
	return err
}

func accept(req infra.CreateInstanceRequest) error {
	if len(req.Args) > 0 || req.SubnetID != "" {
		return fmt.Errorf("%w: that is not known here", infra.ErrInvalidRequest)
	}
	return nil
}

func (p *standIn) reserve(_ context.Context, f hostdir.Folder, req infra.CreateInstanceRequest) (record, error) {
	if p.full {
		return record{}, infra.ErrNoCapacity
	}
	r := record{p.host.NewRecord(1, req), "word"}
	err := p.host.Take(
		hostdir.Do("record", func() error { return p.host.Write(f, r) }),
		hostdir.Do("name", p.host.Sync),
	)
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrAmbiguous, err)
	}
	return r, nil
}

func (p *standIn) build(_ context.Context, f hostdir.Folder, r record, _ infra.CreateInstanceRequest) error {
	if r.Word != "word" {
		return errors.New("the record has lost what is this kind's own")
	}
	if _, err := hostdir.TryLock(f.Path); !errors.Is(err, hostdir.ErrLocked) {
		return fmt.Errorf("the folder is not locked: %w", err)
	}
	return p.host.Take(
		hostdir.Do("life", func() error { return os.WriteFile(filepath.Join(f.Path, lifeFile), nil, 0o600) }),
		hostdir.Do("start", func() error { return os.WriteFile(filepath.Join(f.Path, aliveFile), nil, 0o600) }),
	)
}

func seen(_ context.Context, f hostdir.Folder, r record) *infra.Instance {
	status := infra.StatusPending
	if _, err := os.Stat(filepath.Join(f.Path, aliveFile)); err == nil {
		status = infra.StatusRunning
	}
	if !r.DeletedAt.IsZero() {
		status = infra.StatusDeleting
	}
	return &infra.Instance{
		InstanceID: r.InstanceID, ProviderInstanceID: r.ProviderID, Status: status,
		Hostname: r.InstanceID, LaunchedAt: r.LaunchedAt, Tags: maps.Clone(r.Tags),
	}
}

func (p *standIn) remove(ctx context.Context, f hostdir.Folder, _ record, _ time.Duration) (bool, error) {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return false, err
	}
	defer root.Close()
	if _, err := hostdir.TryLock(f.Path); !errors.Is(err, hostdir.ErrLocked) {
		return false, fmt.Errorf("the folder is not locked: %w", err)
	}
	err = p.host.Take(
		hostdir.Do("contents", func() error { return p.host.Clear(ctx, root, root.Remove) }),
		hostdir.Do("forget", func() error { return p.host.Forget(f, root) }),
	)
	return err == nil, err
}

func (*standIn) Kind() string { return "standin" }

func (p *standIn) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := errors.Join(req.Validate(), p.host.Owner.Check(req.Owner())); err != nil {
		return nil, err
	}
	return p.host.Create(ctx, req)
}

func (p *standIn) DeleteInstance(ctx context.Context, instanceID, _ string) error {
	return p.host.Delete(ctx, instanceID)
}

func (p *standIn) GetInstanceStatus(ctx context.Context, instanceID, _ string) (*infra.Instance, error) {
	return p.host.Status(ctx, instanceID)
}

func (p *standIn) ListInstances(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	return p.host.List(ctx, req)
}

func (*standIn) CheckSubnetCapacity(_ context.Context, subnetID string) (bool, error) {
	return true, accept(infra.CreateInstanceRequest{SubnetID: subnetID})
}

func (p *standIn) CutBefore(cut func(effect string) error) { p.host.Before = cut }

// bench is a place for stand-ins.
type bench struct {
	t   testing.TB
	dir string
	log *hostdirtest.Buffer
}

func newBench(t testing.TB) *bench {
	return &bench{t, filepath.Join(t.TempDir(), "machines"), &hostdirtest.Buffer{}}
}

func (b *bench) open(o infra.Owner) *standIn {
	return open(b.t, b.dir, infra.Options{Owner: o, Logger: slog.New(slog.NewTextHandler(b.log, nil))})
}

func (b *bench) folder(instanceID string) string {
	return filepath.Join(hostdirtest.Home(b.dir, owner), instanceID)
}

func (b *bench) count(instanceID string) int {
	if _, err := os.Stat(b.folder(instanceID)); err != nil {
		return 0
	}
	return 1
}

// place puts a record with these tags there that no provider wrote, and a machine.
func (b *bench) place(tags map[string]string) (providerID string, there func() bool) {
	b.t.Helper()
	r := record{Record: hostdir.Record{Version: 1, InstanceID: tags[infra.TagInstance], ProviderID: "foreign", Tags: tags}}
	if r.InstanceID == "" {
		r.InstanceID = id.New(hostdirtest.Kind).String()
	}
	b.put(b.folder(r.InstanceID), r)
	return r.ProviderID, func() bool {
		_, err1 := os.Stat(filepath.Join(b.folder(r.InstanceID), hostdir.RecordFile))
		_, err2 := os.Stat(filepath.Join(b.folder(r.InstanceID), aliveFile))
		return err1 == nil && err2 == nil
	}
}

// put makes a folder with that record and a machine in it.
func (b *bench) put(folder string, r record) {
	b.t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		b.t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		b.t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(save(root, r), root.WriteFile(aliveFile, nil, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}
