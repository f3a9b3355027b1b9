package provider_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// Four replicas are replaced one at a time, and none is missing meanwhile. A release
// that does not become ready is given up; what served before serves on.
func ExampleRolloutSpec() {
	ctx := context.Background()
	p := memory.New(memory.Options{})
	defer p.Close()
	p.Cluster().AddImage("web:3", memory.Image{Missing: true})

	req := provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{{
			Name: "web", Image: "web:1", Resources: provider.ResourceSpec{Replicas: 4},
			Ports:       []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}},
			HealthCheck: &provider.HealthCheckSpec{Path: "/healthz"},
		}},
		Rollout: &provider.RolloutSpec{MaxSurge: "1", MaxUnavailable: "0", ReadyTimeout: time.Minute},
	}
	if _, err := p.Provision(ctx, req); err != nil {
		log.Fatal(err)
	}

	// wait looks until the release that was asked for last is ready or has failed.
	// WaitReady only reads. A provider that is a Stepper has to be driven meanwhile:
	// Await does both, and this one, in its mode Sync, has finished when Deploy returns.
	wait := func() (*provider.InstanceStatus, error) {
		policy := provider.ReadinessPolicy{Timeout: 2 * time.Minute, Interval: time.Second}
		return provider.WaitReady(ctx, policy, func(ctx context.Context) (*provider.InstanceStatus, error) {
			return p.Status(ctx, req.InstanceID)
		})
	}
	if _, err := wait(); err != nil {
		log.Fatal(err)
	}

	for _, image := range []string{"web:2", "web:3"} {
		_, err := p.Deploy(ctx, provider.DeployRequest{
			InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Strategy: provider.StrategyRolling,
			Services: []provider.ServiceDeploySpec{{Name: "web", Image: image}},
		})
		if err != nil {
			log.Fatal(err) // nothing was begun
		}
		status, err := wait()
		if err != nil && !errors.Is(err, provider.ErrNotReady) {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s, %d replicas, available: %t\n", image, provider.ReadinessOutcome(status, err), len(status.Services["web"].Replicas), status.Available)
	}

	// The verdict on web:3 stays until another release is asked for. This asks for the
	// one that serves.
	status, err := p.Status(ctx, req.InstanceID)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Rollback(ctx, req.InstanceID, status.ReleaseID); err != nil {
		log.Fatal(err)
	}
	status, err = wait()
	fmt.Println(provider.ReadinessOutcome(status, err))
	// Output:
	// web:2: ready, 4 replicas, available: true
	// web:3: failed, 4 replicas, available: true
	// ready
}
