package docker_test

import (
	"context"
	"fmt"
	"log"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/docker"
	"github.com/berth-cloud/berth/secrets"
)

// A program that runs one service on the local engine, and removes it.
func Example() {
	ctx := context.Background()
	p, err := docker.New(docker.Options{Owner: "example", Vault: secrets.NewMemory()})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	instance := id.New(id.KindWorkload)
	_, err = p.Provision(ctx, provider.ProvisionRequest{
		InstanceID: instance, TenantID: "acme", Name: "hello",
		Services: []provider.ServiceSpec{{
			Name: "web", Image: "nginx:1.29", Ports: []provider.PortSpec{{Container: 80, Protocol: provider.ProtocolHTTP}},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	status, err := provider.Await(ctx, p, instance, p.ReadinessPolicy())
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range status.Endpoints { // of a group: those of sidecars too
		if e.ServiceName == "web" {
			fmt.Println(e.URL)
		}
	}
	if err := p.Deprovision(ctx, instance); err != nil {
		log.Fatal(err)
	}
}
