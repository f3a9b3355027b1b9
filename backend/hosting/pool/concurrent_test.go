package pool

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// linear is the naive model as porcupine wants it.
func linear(cfg Config) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return naive{cfg, map[string]Holding{}, map[string]Retained{}} },
		Step: func(state, input, output any) (bool, any) {
			next, want := state.(naive).do(input.(op))
			return want == output.(result), next
		},
		Equal: func(a, b any) bool { return same(a.(naive).facts(), b.(naive).facts()) == "" },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v -> %+v", input, output)
		},
	}
}

// randomOp contends: four leases of one tenant, for which there is no room at once.
func randomOp(r *rand.Rand) op {
	lease := func() string { return leaseNames[r.IntN(4)] }
	o := op{kind: []string{"reserve", "reserve", "release", "adopt", "adopt", "retain", "resize", "forget", "stats"}[r.IntN(9)], lease: lease(), tenant: "t0"}
	size := sku.Size{MilliCPU: 500, MemoryMB: 100, DiskMB: int64(1+r.IntN(3)) * 300}
	switch o.kind {
	case "adopt":
		o.from = lease()
		fallthrough
	case "reserve", "resize":
		o.instances = instancesOf(o.lease, 1+r.IntN(2), size)
	case "retain":
		o.disk = size.DiskMB
	}
	return o
}

// history is what so many clients saw who called at once.
func history(p *Pool, clients, calls int, seed uint64) []porcupine.Operation {
	var (
		clock atomic.Int64
		mu    sync.Mutex
		all   []porcupine.Operation
		wg    sync.WaitGroup
		start = make(chan struct{})
	)
	for client := range clients {
		r := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			<-start
			for range calls {
				o := porcupine.Operation{ClientId: client, Input: randomOp(r)}
				o.Call = clock.Add(1)
				o.Output = p.do(o.Input.(op))
				o.Return = clock.Add(1)
				mu.Lock()
				all = append(all, o)
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return all
}

func TestConcurrentCallsAreAsIfOneAfterTheOther(t *testing.T) {
	cfg := Config{Total: sku.Size{MilliCPU: 2000, MemoryMB: 2000, DiskMB: 1500}, TenantQuota: sku.Size{MilliCPU: 1500}}
	for seed := range uint64(20) {
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		calls := history(p, 4, 40, seed)
		if got := porcupine.CheckOperationsTimeout(linear(cfg), calls, 20*time.Second); got != porcupine.Ok {
			t.Fatalf("seed %d: the history is %s", seed, got)
		}
	}
}

// A judge that takes everything would prove nothing.
func TestAHistoryThatNoOrderExplainsIsNoticed(t *testing.T) {
	cfg := Config{Total: sku.Size{MilliCPU: 500, MemoryMB: 100, DiskMB: 300}}
	taken := func(client int, lease string) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: 1, Return: 2, Output: result{}, Input: op{
			kind: "reserve", lease: lease, tenant: "t0", instances: instancesOf(lease, 1, cfg.Total),
		}}
	}
	if porcupine.CheckOperations(linear(cfg), []porcupine.Operation{taken(0, "l0"), taken(1, "l1")}) {
		t.Error("two leases hold all there is, and it is taken for right")
	}
}
