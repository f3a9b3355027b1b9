package workloads_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// picky refuses what an engine cannot do, and then is the provider in memory.
type picky struct{ *memory.Provider }

func (p picky) Provision(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	if err := (translate.Limits{}).Refuse(req.Services); err != nil {
		return nil, err
	}
	return p.Provider.Provision(ctx, req)
}

func (p picky) Deploy(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
	if err := (translate.Limits{}).RefuseDeploys(req.Services); err != nil {
		return nil, err
	}
	return p.Provider.Deploy(ctx, req)
}

func TestADryRunIsRefusedForWhatTheProviderCannotDoAsTheApplyIs(t *testing.T) {
	const good = "name: shop\nservices:\n  cache: {role: sidecar, image: shop:1, ports: [6379]}\n  web:\n    image: shop:1\n    ports: [8080]\n"
	const bad = good + "    resources: {memory: 64Mi, disk: 10Gi}\n    volumes:\n      - {name: data, path: /data, type: ssd}\n"
	r := newRig(t)
	r.Registry.Register(apitest.ProviderName, picky{r.Provider})
	refused := func(when string, dry bool) {
		t.Helper()
		f, err := workfile.Parse([]byte(bad), workfile.Options{File: "shop.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Service.Apply(r.ctx, f, workloads.With{DryRun: dry})
		var p *wire.Problem
		if !errors.As(err, &p) || !errors.Is(err, provider.ErrNotSupported) {
			t.Fatalf("%s, dry run %t: %v", when, dry, err)
		}
		var lines []string
		for _, e := range p.Errors {
			lines = append(lines, e.String())
		}
		want := []string{
			"shop.yaml:7:37: services.web.resources.disk: an engine does not bound what a container writes",
			"shop.yaml:9:41: services.web.volumes[0].type: an engine has one class of volumes",
		}
		if p.Type != wire.ProblemNotSupported || !slices.Equal(lines, want) {
			t.Errorf("%s, dry run %t: %v", when, dry, p)
		}
	}
	refused("a new workload", true)
	refused("a new workload", false)
	if keys, err := r.State.List(r.ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("records are left: %v, %v", keys, err)
	}
	stop := r.run()
	defer stop()
	if _, err := r.Service.Apply(r.ctx, r.file(good), workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	refused("a change", true)
	refused("a change", false)
	list, err := r.Service.Rollouts(r.ctx, "shop", "", 10)
	if err != nil || len(list.Rollouts) != 1 {
		t.Errorf("a refused change is in the records: %+v, %v", list, err)
	}
}

func TestAStrategyThatTheProviderLacksIsRefusedWhereItIsWritten(t *testing.T) {
	r := newRig(t)
	f := r.file("name: shop\nrollout: {strategy: canary}\nservices:\n  web: {image: shop:1}\n")
	_, err := r.Service.Apply(r.ctx, f, workloads.With{DryRun: true})
	var p *wire.Problem
	if !errors.As(err, &p) || len(p.Errors) != 1 || p.Errors[0].Location != "rollout.strategy" || p.Errors[0].Line != 2 {
		t.Errorf("%v", err)
	}
}

func TestAProviderThatSaysNoMoreThanThatItCannotIsQuoted(t *testing.T) {
	r := newRig(t)
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, resources: {gpu: 1}}\n")
	_, err := r.Service.Apply(r.ctx, f, workloads.With{})
	if err == nil || !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("%v", err)
	}
}
