package pool

import (
	"fmt"
	"testing"

	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// BenchmarkReserve allocates and releases a lease of three instances beside many
// others, which must make no difference.
func BenchmarkReserve(b *testing.B) {
	for _, leases := range []int{100, 10_000} {
		b.Run(fmt.Sprint(leases), func(b *testing.B) {
			p := newPool(b, sku.Size{MilliCPU: 1 << 40, MemoryMB: 1 << 40, DiskMB: 1 << 40}, sku.Size{MilliCPU: 1 << 30})
			for i := range leases {
				lease := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
				must(b, p.Reserve(lease, fmt.Sprint("tenant ", i%500), instancesOf(lease, 3, one)))
			}
			const lease = "a1b2c3d4-e5f6-7890-abcd-1234567890ab"
			instances := instancesOf(lease, 3, one)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Reserve(lease, "tenant 7", instances); err != nil {
					b.Fatal(err)
				}
				p.Release(lease)
			}
		})
	}
}
