package provider_test

import (
	"context"
	"fmt"
	"log"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// A database keeps its files in a volume, which outlives its containers: a deploy
// of another image finds them. One container at a time may write them, so the old
// one ends before the new one starts.
func ExampleVolumeSpec() {
	ctx := context.Background()
	// In memory a change is over when its call returns. With docker.New, call
	// provider.Await after Provision and Deploy.
	p := memory.New(memory.Options{})
	defer p.Close()

	// What the image would bring along: a program that appends to a file.
	add := func(_ context.Context, c *memory.Process) int {
		notes, _ := c.ReadFile("/var/lib/notes/all") // none at first
		notes = append(notes, c.Args()[0]...)
		if err := c.WriteFile("/var/lib/notes/all", notes); err != nil {
			return 1
		}
		fmt.Fprintln(c.Stdout(), string(notes))
		return 0
	}
	for _, image := range []string{"notes:1", "notes:2"} {
		p.Cluster().AddImage(image, memory.Image{Programs: map[string]memory.Program{"/serve": memory.Serve, "/add": add}})
	}

	instance := id.New(id.KindWorkload)
	_, err := p.Provision(ctx, provider.ProvisionRequest{
		InstanceID: instance, TenantID: "acme", Name: "notes",
		Kind: provider.KindStatefulSet, // each replica has a volume of its own
		Services: []provider.ServiceSpec{{
			Name: "db", Image: "notes:1", Command: []string{"/serve"},
			Ports:       []provider.PortSpec{{Container: 5432, Protocol: provider.ProtocolTCP}},
			Volumes:     []provider.VolumeSpec{{Name: "data", MountPath: "/var/lib/notes", SizeMB: 64}},
			HealthCheck: &provider.HealthCheckSpec{Port: 5432}, // a TCP connection
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	note := func(text string) {
		res, err := p.Exec(ctx, instance, provider.ExecRequest{Command: []string{"/add", text}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(res.Stdout))
	}
	note("written by the first container")

	_, err = p.Deploy(ctx, provider.DeployRequest{
		InstanceID: instance, ReleaseID: id.New(id.KindRelease),
		Services: []provider.ServiceDeploySpec{{Name: "db", Image: "notes:2"}}, // the volume is kept
	})
	if err != nil {
		log.Fatal(err)
	}
	note(", and by the second")
	// Output:
	// written by the first container
	// written by the first container, and by the second
}
