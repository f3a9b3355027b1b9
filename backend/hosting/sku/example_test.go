package sku_test

import (
	"fmt"

	"github.com/berth-cloud/berth/backend/hosting/sku"
)

func ExampleNew() {
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "small", CPUCores: 0.5, MemoryMB: 512}},
		Mapping:  []sku.Mapping{{SKU: "a1b2c3d4-e5f6-7890-abcd-1234567890ab", Profile: "small"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tier, err := catalog.Resolve("a1b2c3d4-e5f6-7890-abcd-1234567890ab")
	fmt.Println(tier.Name, tier.Size.MilliCPU, tier.Size.MemoryMB, err)
	_, err = catalog.Resolve("huge")
	fmt.Println(err)
	// Output:
	// small 500 512 <nil>
	// validation error: unknown SKU: "huge" is neither in the mapping nor the name of a profile
}
