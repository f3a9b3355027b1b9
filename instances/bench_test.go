package instances_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage"
)

// slow is a store whose reads take a while.
type slow struct {
	storage.Storage
	read time.Duration
}

func (s slow) Get(ctx context.Context, key string) ([]byte, string, error) {
	timer := time.NewTimer(s.read)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	return s.Storage.Get(ctx, key)
}

// fill puts n records there, as many machines' as they say.
func (w *world) fill(l *leader, n int) {
	w.t.Helper()
	made := w.create(l, web())
	var record string
	for _, text := range w.objects("shard/one/instance/") {
		record = text
	}
	hash := instances.TokenHash(made.RegistrationJWT)
	for i := range n - 1 {
		next := w.ids.New("wrk").String()
		key, err := instances.StorageKey(next)
		must(w.t, err)
		text := strings.NewReplacer(made.InstanceID, next, hash, fmt.Sprintf("sha256:%064x", i)).Replace(record)
		_, err = w.memory.Put(w.t.Context(), "shard/one/instance/acme."+key+".json", []byte(text))
		must(w.t, err)
	}
}

// BenchmarkRebuildCache fills the cache from 100,000 records, each read of which takes
// 5 ms, and reports how much faster that is than to read one after another.
func BenchmarkRebuildCache(b *testing.B) {
	const records, read = 100_000, 5 * time.Millisecond
	w := newWorld(b)
	w.fill(w.start(), records)
	l := w.start(func(o *instances.ManagerOptions) { o.Storage, o.Readers = slow{w.memory, read}, 0 })
	for b.Loop() {
		must(b, l.RebuildCache(b.Context()))
	}
	b.StopTimer()
	rows, err := l.db.Instances(b.Context(), localdb.Query{})
	must(b, err)
	if len(rows) != records {
		b.Fatalf("%d rows", len(rows))
	}
	b.ReportMetric((records*read).Seconds()/(b.Elapsed().Seconds()/float64(b.N)), "x-serial")
}

// BenchmarkRegister trades tokens for certificates.
func BenchmarkRegister(b *testing.B) {
	w := newWorld(b)
	l := w.start()
	for b.Loop() {
		b.StopTimer()
		made, key := w.create(l, web()), newKey(b)
		b.StartTimer()
		if _, err := w.register(l, made.RegistrationJWT, key); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "registrations/s")
}
