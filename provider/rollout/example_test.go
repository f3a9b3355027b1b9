package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/rollout"
)

// A release that does not become ready is taken back; the one before serves on.
func ExampleManager() {
	dir, err := os.MkdirTemp("", "rollout")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := provider.NewDirStore(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	driver := memory.New(memory.Options{Store: store, Mode: memory.Stepped})
	defer driver.Close()
	driver.Cluster().AddImage("web:missing", memory.Image{Missing: true})

	registry := provider.NewRegistry()
	registry.Register("here", driver)
	registry.SetDefault("here")

	ctx := context.Background()
	m := rollout.New(store, registry, rollout.Options{})
	if _, err := m.Resume(ctx); err != nil {
		fmt.Println(err)
		return
	}

	shop := id.New(id.KindWorkload)
	wait := rollout.With{Initiator: "ada", Wait: true}
	first, err := m.Provision(ctx, "", provider.ProvisionRequest{
		InstanceID: shop, TenantID: "acme", Name: "shop", Services: []provider.ServiceSpec{{Name: "web", Image: "web:1"}},
	}, wait)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("release", first.Release.Version, first.Rollout.State)

	for _, image := range []string{"web:2", "web:missing"} {
		res, err := m.Deploy(ctx, provider.DeployRequest{
			InstanceID: shop, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{Name: "web", Image: image}},
		}, wait)
		if res == nil {
			fmt.Println(err)
			return
		}
		fmt.Println("release", res.Release.Version, res.Rollout.State, errors.Is(err, provider.ErrNotReady))
	}
	now, err := m.Current(ctx, shop)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("now", now.Version, now.Services[0].Image)
	// Output:
	// release 1 succeeded
	// release 2 succeeded false
	// release 3 rolled_back true
	// now 2 web:2
}
