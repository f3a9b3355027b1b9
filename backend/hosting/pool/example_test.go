package pool_test

import (
	"fmt"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

func Example() {
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "small", CPUCores: 0.5, MemoryMB: 512}},
		Mapping:  []sku.Mapping{{SKU: "a1b2c3d4-e5f6-7890-abcd-1234567890ab", Profile: "small"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pool.New(pool.Config{Total: sku.Size{MilliCPU: 1000, MemoryMB: 4096}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lease := range []string{"lease-1", "lease-2", "lease-3"} {
		instances, err := pool.Instances(lease, []backend.LeaseItem{{SKU: "small", Quantity: 1, ServiceName: "app"}}, catalog)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(lease, p.Reserve(lease, "tenant", instances))
	}
	fmt.Println(sku.FormatCores(p.Stats().Available.MilliCPU), "cores are free")
	// Output:
	// lease-1 <nil>
	// lease-2 <nil>
	// lease-3 insufficient resources: CPU: 0.5 cores needed, 0 cores of 1 core free
	// 0 cores are free
}
