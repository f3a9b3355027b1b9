package provider_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/berth-cloud/berth/provider"
)

func ExampleValidateServices() {
	err := provider.ValidateServices([]provider.ServiceSpec{
		{Name: "web", Image: "web:1", Ports: []provider.PortSpec{{Container: 8080}}},
		{Name: "metrics", Image: "metrics:1", Role: provider.RoleSidecar, Ports: []provider.PortSpec{{Container: 8080}}},
		{Name: "Logs", Role: provider.RoleSidecar},
	})
	var invalid *provider.ValidationError
	if errors.As(err, &invalid) {
		for _, p := range invalid.Problems {
			fmt.Println(p.Path)
		}
	}
	// Output:
	// services[2].name
	// services[2].image
	// services[1].ports[0].container
}

func ExampleStartOrder() {
	order, err := provider.StartOrder([]provider.ServiceSpec{
		{Name: "web", Image: "web:1", DependsOn: []string{"proxy"}},
		{Name: "logs", Image: "logs:1", Role: provider.RoleSidecar},
		{Name: "proxy", Image: "proxy:1", Role: provider.RoleSidecar},
		{Name: "migrate", Image: "web:1", Role: provider.RoleInit},
	})
	fmt.Println(order, err)
	// Output: [migrate proxy web logs] <nil>
}

func ExampleServiceSnapshot_DeploySpec() {
	before := provider.ServiceSpec{Name: "web", Image: "web:1"}
	release := provider.SnapshotOf(before)

	after := provider.ServiceDeploySpec{Name: "web", Image: "web:2", Env: map[string]string{"MODE": "new"}}.Apply(before)
	fmt.Println(after.Image, after.Env)

	back := release.DeploySpec().Apply(after)
	fmt.Println(back.Image, len(back.Env))
	// Output:
	// web:2 map[MODE:new]
	// web:1 0
}

func ExampleWaitReady() {
	reads := 0
	status, err := provider.WaitReady(context.Background(), provider.ReadinessPolicy{Interval: 1}, func(context.Context) (*provider.InstanceStatus, error) {
		reads++
		if reads < 3 {
			return &provider.InstanceStatus{State: provider.StateStarting}, nil
		}
		return &provider.InstanceStatus{State: provider.StateRunning, Ready: true}, nil
	})
	fmt.Println(status.State, provider.ReadinessOutcome(status, err), reads)
	// Output: running ready 3
}

func ExampleRegistry_Resolve() {
	r := provider.NewRegistry()
	r.Register("eu-1", fixed{name: "kubernetes"})
	r.Register("local", fixed{name: "docker"})

	key, _, err := r.Resolve("kubernetes") // the only one of its type
	fmt.Println(key, err)
	_, _, err = r.Resolve("us-1")
	fmt.Println(errors.Is(err, provider.ErrProviderNotFound))
	// Output:
	// eu-1 <nil>
	// true
}

func ExampleNewDirStore() {
	dir, err := os.MkdirTemp("", "berth-state-")
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

	ctx := context.Background()
	first, _ := store.Put(ctx, "instance/a", []byte("one"), "")
	_, err = store.Put(ctx, "instance/a", []byte("two"), first)
	fmt.Println(err)
	_, err = store.Put(ctx, "instance/a", []byte("three"), first)
	fmt.Println(errors.Is(err, provider.ErrConflict))
	// Output:
	// <nil>
	// true
}
