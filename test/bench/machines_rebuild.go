package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage"
)

const (
	rebuildRecords = 100_000
	serialRecords  = 2_000 // of the serial side, which is scaled
	rebuildRead    = 5 * time.Millisecond
	minRebuild     = 50.0 // times as fast as a serial read
)

// slowStore is a store each of whose reads takes a while.
type slowStore struct{ storage.Storage }

func (s slowStore) Get(ctx context.Context, key string) ([]byte, string, error) {
	if !pause(ctx, rebuildRead) {
		return nil, "", ctx.Err()
	}
	return s.Storage.Get(ctx, key)
}

// measureRebuild fills an empty cache from all records, and from a sample of them one
// after another.
func measureRebuild(ctx context.Context, _ options) (_ []line, err error) {
	serial, _, err := rebuild(ctx, serialRecords, 1)
	if err != nil {
		return nil, err
	}
	took, size, err := rebuild(ctx, rebuildRecords, 0)
	if err != nil {
		return nil, err
	}
	whole := serial * rebuildRecords / serialRecords
	return []line{{
		What:  fmt.Sprintf("machines, rebuild of the cache from %d records, against one read after another", rebuildRecords),
		Value: float64(whole) / float64(took), Format: "%.0f ×", Target: minRebuild, AtLeast: true,
		Detail: fmt.Sprintf("%.1f s, records of %d bytes, each read with %s injected, %d at once; one after another %.1f s for %d of them, so %.0f s for all",
			took.Seconds(), size, rebuildRead, instances.DefaultReaders, serial.Seconds(), serialRecords, whole.Seconds()),
	}}, nil
}

// rebuild says how long it takes from so many records, and how large one is.
func rebuild(ctx context.Context, records, readers int) (took time.Duration, size int, err error) {
	m, err := newMachines(ctx)
	defer func() { err = errors.Join(err, m.close()) }()
	if err != nil {
		return 0, 0, err
	}
	if size, err = m.fill(ctx, records); err != nil {
		return 0, 0, err
	}
	manager, db, err := m.manager(ctx, slowStore{m.memory}, readers)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := manager.RebuildCache(ctx); err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	rows, err := db.Instances(ctx, localdb.Query{})
	if err == nil && len(rows) != records {
		err = fmt.Errorf("the cache has %d rows of %d", len(rows), records)
	}
	return took, size, err
}

// fill puts n records into the store: that of one machine, and others like it.
func (m *machines) fill(ctx context.Context, n int) (size int, err error) {
	manager, _, err := m.manager(ctx, m.memory, 0)
	if err != nil {
		return 0, err
	}
	made, err := manager.CreateInstance(ctx, instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
	if err != nil {
		return 0, err
	}
	key, err := recordOf(made.InstanceID)
	if err != nil {
		return 0, err
	}
	record, _, err := m.memory.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	hash := instances.TokenHash(made.RegistrationJWT)
	ids := &id.Generator{Now: time.Now}
	for i := range n - 1 {
		next := ids.New("wrk").String()
		if key, err = recordOf(next); err != nil {
			return 0, err
		}
		text := strings.NewReplacer(made.InstanceID, next, hash, fmt.Sprintf("sha256:%064x", i)).Replace(string(record))
		if _, err := m.memory.Put(ctx, key, []byte(text)); err != nil {
			return 0, err
		}
	}
	return len(record), nil
}

// recordOf is the key of a record in the store.
func recordOf(instance string) (string, error) {
	key, err := instances.StorageKey(instance)
	return "shard/one/instance/acme." + key + ".json", err
}
