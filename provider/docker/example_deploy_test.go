package docker_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/docker"
)

// A program that changes a service, and when the new release does not become ready
// settles for the one that serves on. The store is a directory, so the next run of the
// program knows the workload again.
func ExampleProvider_Deploy() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	store, err := provider.NewDirStore("/var/lib/example/workloads")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	p, err := docker.New(docker.Options{Owner: "example", State: store})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	instance, err := id.ParseKind("wkl06h2kjmyphvf3045kt8ate3610", id.KindWorkload) // as it was provisioned
	if err != nil {
		log.Fatal(err)
	}
	_, err = p.Deploy(ctx, provider.DeployRequest{
		InstanceID: instance, ReleaseID: id.New(id.KindRelease), Strategy: provider.StrategyBlueGreen,
		// The image is said in every request, also where only a variable changes.
		Services: []provider.ServiceDeploySpec{{Name: "web", Image: "nginx:1.29", Env: map[string]string{"MODE": "new"}}},
	})
	if err != nil {
		log.Fatal(err) // refused: nothing was begun
	}
	status, err := provider.Await(ctx, p, instance, p.ReadinessPolicy())
	switch {
	case err == nil:
		fmt.Println("release", status.ReleaseID, "serves")
	case errors.Is(err, provider.ErrNotReady) && status != nil && status.State == provider.StateFailed && status.Available:
		// The release before serves. Until another is asked for, the status and Await
		// go on to say that this one has failed; so ask for what serves.
		fmt.Println(status.Message)
		if err := p.Rollback(ctx, instance, status.ReleaseID); err != nil {
			log.Fatal(err)
		}
	default:
		log.Fatal(err)
	}
}
