package memory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// A workload runs without an engine, and what is to go wrong with it is scripted.
func Example() {
	p := memory.New(memory.Options{})
	defer p.Close()
	p.Cluster().AddImage("shop:2", memory.Image{Missing: true})
	ctx := context.Background()

	instance := id.New(id.KindWorkload)
	_, err := p.Provision(ctx, provider.ProvisionRequest{
		InstanceID: instance, TenantID: "acme", Name: "shop",
		Services: []provider.ServiceSpec{{Name: "web", Image: "shop:1", Ports: []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.Deploy(ctx, provider.DeployRequest{
		InstanceID: instance, ReleaseID: id.New(id.KindRelease),
		Services: []provider.ServiceDeploySpec{{Name: "web", Image: "shop:2"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	st, err := p.Status(ctx, instance)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.State, st.Reason, "available:", st.Available)
	// Output: failed RolloutFailed available: true
}
