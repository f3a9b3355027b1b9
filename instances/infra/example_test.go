package infra_test

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/secrets"
)

// A create whose answer is lost is made again with the same bytes.
func Example() {
	ctx := context.Background()
	clock := fake.NewClock(time.Time{})
	cloud := fake.NewCloud(fake.Options{Now: clock.Now, BootTime: time.Minute})
	registry, err := infra.NewRegistry(map[string]infra.OpenFunc{"fake": cloud.Open})
	if err != nil {
		panic(err)
	}
	provider, err := registry.Open(ctx, "fake", infra.Options{Owner: infra.Owner{ClusterID: "prod", Shard: "eu-1a"}})
	if err != nil {
		panic(err)
	}

	req := infra.CreateInstanceRequest{
		ClusterID: "prod", Shard: "eu-1a", Group: "workers", Template: "worker",
		InstanceKind: "knc", InstanceID: "knc06bgm7733st2576nx5jht4ecjw",
		UserData: secrets.NewSecretString("#cloud-config\n"),
	}
	cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.FailAfter})
	_, err = provider.CreateInstance(ctx, req)
	fmt.Println("perhaps created:", infra.PerhapsCreated(err))
	machine, err := provider.CreateInstance(ctx, req)
	fmt.Println(machine.ProviderInstanceID, machine.Status, err)

	clock.Advance(time.Minute)
	machine, err = provider.GetInstanceStatus(ctx, req.InstanceID, "")
	fmt.Println(machine.Status, err, "machines:", len(cloud.Alive()))

	_, err = registry.Open(ctx, "aws", infra.Options{Owner: req.Owner()})
	fmt.Println(err)
	// Output:
	// perhaps created: true
	// fake-000001 pending <nil>
	// running <nil> machines: 1
	// infra: this kind of provider is not built yet: "aws"; there are fake
}
