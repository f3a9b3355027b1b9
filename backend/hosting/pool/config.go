package pool

import (
	"errors"
	"fmt"
	"math"

	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// ErrConfig is what the error of a pool that cannot be is.
var ErrConfig = errors.New("the resource pool is not valid")

// Config is how much there is.
type Config struct {
	// Total is what may be held in sum. CPU and memory are more than 0; without disk
	// no lease with a disk is taken.
	Total sku.Size
	// TenantQuota is what the leases of one tenant may hold, of each resource; 0 is no
	// limit for that one.
	TenantQuota sku.Size
}

func (c Config) check() error {
	// Half of what can be counted, so that what is found beyond the total after a
	// restart can be counted too.
	const most = math.MaxInt64 / 2
	var wrong []error
	for _, v := range []struct {
		name        string
		least, have int64
	}{
		{"total_cpu_cores", 1, c.Total.MilliCPU}, {"total_memory_mb", 1, c.Total.MemoryMB}, {"total_disk_mb", 0, c.Total.DiskMB},
		{"tenant_quota.cpu_cores", 0, c.TenantQuota.MilliCPU}, {"tenant_quota.memory_mb", 0, c.TenantQuota.MemoryMB}, {"tenant_quota.disk_mb", 0, c.TenantQuota.DiskMB},
	} {
		switch {
		case v.have < v.least && v.least == 0:
			wrong = append(wrong, fmt.Errorf("%w: %s is negative", ErrConfig, v.name))
		case v.have < v.least:
			wrong = append(wrong, fmt.Errorf("%w: %s is not above 0", ErrConfig, v.name))
		case v.have > most:
			wrong = append(wrong, fmt.Errorf("%w: %s is more than can be counted", ErrConfig, v.name))
		}
	}
	return errors.Join(wrong...)
}
