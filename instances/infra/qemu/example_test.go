package qemu_test

import (
	"context"
	"log"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// A registry opens the provider by its kind, with the options of a configuration file.
func Example() {
	kinds, err := infra.NewRegistry(map[string]infra.OpenFunc{qemu.Kind: qemu.Open})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := kinds.Open(ctx, qemu.Kind, infra.Options{
		Owner: infra.Owner{ClusterID: "example", Shard: "one"},
		Settings: map[string]any{
			"dir":    "/var/lib/berth/machines",
			"images": map[string]any{"default": map[string]any{"disk": "/var/lib/berth/images/debian-12.qcow2", "format": "qcow2"}},
			"types":  map[string]any{"default": map[string]any{"cpus": 2, "memory_mib": 2048, "disk_mib": 20480}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Print(p.Kind())
}
