package rollout_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/rollout"
)

// A whole life on a driver, in both of its modes: that what this package counts on
// is what drivers do.
func TestALifeOnTheMemoryProvider(t *testing.T) {
	for _, mode := range []memory.Mode{memory.Sync, memory.Stepped} {
		t.Run(fmt.Sprintf("mode %d", mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { life(t, mode) })
		})
	}
}

func life(t *testing.T, mode memory.Mode) {
	ctx := t.Context()
	p := memory.New(memory.Options{Mode: mode})
	defer p.Close()
	p.Cluster().AddImage("web:broken", memory.Image{Missing: true})
	registry := provider.NewRegistry()
	registry.Register("here", p)
	m := rollout.New(provider.NewMemoryStore(), registry, rollout.Options{})
	shop, wait := id.New(id.KindWorkload), rollout.With{Wait: true}

	served := func(what string, version int64) {
		t.Helper()
		rel, err := m.Current(ctx, shop)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		st, err := p.Status(ctx, shop)
		if err != nil || rel.Version != version || st.ReleaseID != rel.Ref || !st.Ready {
			t.Fatalf("%s: version %d, want %d; status %+v, %v", what, rel.Version, version, st, err)
		}
	}
	deploy := func(image string) (*rollout.Result, error) {
		return m.Deploy(ctx, provider.DeployRequest{
			InstanceID: shop, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{Name: "web", Image: image}},
		}, wait)
	}

	_, err := m.Provision(ctx, "here", provider.ProvisionRequest{
		InstanceID: shop, TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{{Name: "web", Image: "web:1", Ports: []provider.PortSpec{{Container: 8080}}}},
	}, wait)
	if err != nil {
		t.Fatal(err)
	}
	served("provision", 1)
	if _, err := deploy("web:2"); err != nil {
		t.Fatal(err)
	}
	served("deploy", 2)
	if err := m.Scale(ctx, shop, provider.ResourceSpec{Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Await(ctx, p, shop, provider.ReadinessPolicy{Interval: time.Second}); err != nil {
		t.Fatal(err)
	}
	res, err := deploy("web:broken")
	if !errors.Is(err, provider.ErrNotReady) || res.Rollout.State != rollout.StateRolledBack {
		t.Fatalf("%+v, %v", res, err)
	}
	served("a release that failed", 2)
	p.Cluster().AddImage("web:broken", memory.Image{
		Entrypoint: []string{"/serve"}, Programs: map[string]memory.Program{"/serve": memory.Serve},
	})
	if res, err = deploy("web:broken"); err != nil || res.Release.Version != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	served("the same again, mended", 3)
	if _, err := m.Rollback(ctx, shop, id.Nil, wait); err != nil {
		t.Fatal(err)
	}
	served("rollback", 2)
	if res, err = deploy("web:broken"); err != nil || res.Release.Version != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	served("content that served before", 3)
	st, err := p.Status(ctx, shop)
	if err != nil || len(st.Services["web"].Replicas) != 2 {
		t.Fatalf("replicas %+v, %v", st, err)
	}
	if err := m.Deprovision(ctx, shop); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(ctx, shop); !errors.Is(err, provider.ErrNotFound) {
		t.Fatalf("after deprovision: %v", err)
	}
}
