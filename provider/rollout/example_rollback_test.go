package rollout_test

import (
	"context"
	"fmt"
	"log"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/rollout"
)

// A release that became ready turns out to be wrong. Rollback brings back the one
// before it, or any that has served; the history says who did what.
func ExampleManager_Rollback() {
	ctx := context.Background()
	store := provider.NewMemoryStore() // or provider.NewDirStore, which outlives the program
	driver := memory.New(memory.Options{Store: store, Mode: memory.Stepped})
	defer driver.Close()
	registry := provider.NewRegistry()
	registry.Register("here", driver)
	registry.SetDefault("here")

	m := rollout.New(store, registry, rollout.Options{})
	if _, err := m.Resume(ctx); err != nil { // what a crash has left open
		log.Fatal(err)
	}

	shop, ada := id.New(id.KindWorkload), rollout.With{Initiator: "ada", Wait: true}
	first, err := m.Provision(ctx, "", provider.ProvisionRequest{
		InstanceID: shop, TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{{Name: "web", Image: "web:1", Env: map[string]string{"MODE": "old"}}},
	}, ada)
	if err != nil {
		log.Fatal(err)
	}
	for _, image := range []string{"web:2", "web:3"} {
		_, err := m.Deploy(ctx, provider.DeployRequest{
			InstanceID: shop, ReleaseID: id.New(id.KindRelease),
			Services: []provider.ServiceDeploySpec{{Name: "web", Image: image, Env: map[string]string{"MODE": "new"}}},
		}, ada)
		if err != nil {
			log.Fatal(err)
		}
	}

	bob := rollout.With{Initiator: "bob", Wait: true}
	if _, err := m.Rollback(ctx, shop, id.ID{}, bob); err != nil { // to the one before
		log.Fatal(err)
	}
	if _, err := m.Rollback(ctx, shop, first.Release.ID, bob); err != nil { // to one by its id
		log.Fatal(err)
	}

	now, err := m.Current(ctx, shop)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("now", now.Version, now.Services[0].Image, now.Services[0].Env["MODE"])
	history, _, err := m.Rollouts(ctx, shop, rollout.Page{})
	if err != nil {
		log.Fatal(err)
	}
	for _, ro := range history { // newest first
		fmt.Println(ro.Number, ro.Kind, "to release", ro.ReleaseVersion, ro.State, "by", ro.Initiator)
	}
	// Output:
	// now 1 web:1 old
	// 5 rollback to release 1 succeeded by bob
	// 4 rollback to release 2 succeeded by bob
	// 3 deploy to release 3 succeeded by ada
	// 2 deploy to release 2 succeeded by ada
	// 1 initial to release 1 succeeded by ada
}
