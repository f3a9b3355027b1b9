package reconcile

import (
	"context"
	"runtime"
	"sync"
	"testing"
)

// quiet is a controller in the state most are in: nothing to do.
type quiet struct {
	name       string
	conditions []Condition
}

var _ Controller = (*quiet)(nil)

func (q *quiet) Name() string { return q.name }

func (q *quiet) Reconcile(context.Context) (Result, error) {
	return Result{Conditions: q.conditions}, nil
}

// BenchmarkNoOpPassOver10000Keys wakes ten thousand keys that have nothing to
// do and waits until all have run. B/key is what the engine holds for each at
// rest, names and conditions included.
func BenchmarkNoOpPassOver10000Keys(b *testing.B) {
	const n = 10_000
	all := keys("application", n)
	conditions := []Condition{{Type: ConditionReady, Status: True, Reason: "AlreadyRunning"}}
	var ran sync.WaitGroup
	heap := heapInUse()
	e := New(func(_ context.Context, key Key) (Controller, error) {
		return &quiet{name: key.String(), conditions: conditions}, nil
	}, Config{
		Workers:    4,
		Group:      func(k Key) string { return k.Name[:3] },
		GroupLimit: func(string) int { return 2 },
		OnResult:   func(Outcome) { ran.Done() },
	})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) })
	b.ReportAllocs()
	for b.Loop() {
		ran.Add(n)
		for _, key := range all {
			e.Enqueue(key)
		}
		ran.Wait()
	}
	b.ReportMetric(float64(heapInUse()-heap)/n, "B/key")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
	cancel()
	running.Wait()
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
