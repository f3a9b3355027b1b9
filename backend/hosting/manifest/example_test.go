package manifest_test

import (
	"fmt"
	"net/netip"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

// A document is read, held against the lease and the registries, and made into what
// a provider runs.
func Example() {
	stack, err := manifest.Parse([]byte(`{"image": "nginx:1.29", "ports": {"80/tcp": {}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	item := backend.LeaseItem{SKU: "small", Quantity: 2}
	policy, err := manifest.NewPolicy("docker.io")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stack.Match([]backend.LeaseItem{item}), policy.Check(stack), stack.Images())

	w, err := stack.Workload(item, manifest.Place{
		Size:        manifest.Size{CPUCores: 0.5, MemoryMB: 512},
		BindAddress: netip.MustParseAddr("127.0.0.1"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	service := w.Request.Services[0]
	fmt.Println(w.Request.Name, w.Request.Kind, service.Resources.Replicas, service.Ports[0].Container, service.Security.CapDrop)
	// Output:
	// <nil> <nil> [docker.io/library/nginx:1.29]
	// app deployment 2 80 [ALL]
}

func ExampleParse_faults() {
	_, err := manifest.Parse([]byte(`{"services": {"web": {"image": "nginx", "Env": {}, "ports": {"80/tcp": {"host_port": 80}}}}}`))
	fmt.Println(err)
	// Output:
	// validation error: invalid manifest: services.web.Env: is not a field; write "env"; services.web.ports["80/tcp"].host_port: asks for a port of the host; those are given out as they are free, so leave it out and read the port from the connection
}
