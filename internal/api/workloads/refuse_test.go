package workloads_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

func TestAStrategyThatTheProviderLacksIsRefusedWithTheFirstFile(t *testing.T) {
	r := newRig(t)
	f := r.file("name: shop\nrollout: {strategy: canary}\nservices:\n  web: {image: shop:1}\n")
	for _, dry := range []bool{true, false} {
		if _, err := r.Service.Apply(r.ctx, f, workloads.With{DryRun: dry}); !errors.Is(err, provider.ErrNotSupported) {
			t.Errorf("dry run %t: %v", dry, err)
		}
	}
	if keys, err := r.State.List(r.ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("records are left: %v, %v", keys, err)
	}
}

func TestAStopWaitsForTheEndOfARollout(t *testing.T) {
	r := newRig(t)
	open := make(chan struct{})
	r.Provider.Cluster().AddImage("shop:1", memory.Image{
		Entrypoint: []string{"/later"},
		Programs: map[string]memory.Program{"/later": func(ctx context.Context, p *memory.Process) int {
			select {
			case <-open:
				return memory.Serve(ctx, p)
			case <-ctx.Done():
				return 1
			}
		}},
	})
	if _, err := r.apply("shop:1"); err != nil { // it is not ready, so that it stays open
		t.Fatal(err)
	}
	if _, err := r.Service.Stop(r.ctx, "shop"); !errors.Is(err, provider.ErrBusy) {
		t.Errorf("stop in the middle of a rollout: %v", err)
	}
	close(open)
	stop := r.run()
	defer stop()
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	if _, err := r.Service.Stop(r.ctx, "shop"); err != nil {
		t.Errorf("stop after it: %v", err)
	}
}
