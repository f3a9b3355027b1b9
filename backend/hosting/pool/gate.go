package pool

import (
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// gate refuses growth for which there is no room; shared is the part of its disk, in
// MB, that is counted already. Of a resource that does not grow nothing is asked, so
// that what shrinks never fails.
func (p *Pool) gate(tenant string, growth sku.Size, shared int64) error {
	net := growth
	net.DiskMB -= shared
	var lacks []string
	for _, r := range resources {
		if need, free := r.of(net), r.of(p.cfg.Total)-r.of(p.books.used); need > 0 && need > free {
			lacks = append(lacks, fmt.Sprintf("%s: %s needed, %s of %s free",
				r.name, r.format(need), r.format(max(free, 0)), r.format(r.of(p.cfg.Total))))
		}
	}
	balance := p.books.tenants[tenant].used
	for _, r := range resources {
		quota := r.of(p.cfg.TenantQuota)
		if quota == 0 {
			continue
		}
		if need, left := r.of(growth), quota-r.of(balance); need > 0 && need > left {
			lacks = append(lacks, fmt.Sprintf("%s of the tenant's quota: %s needed, %s of %s left",
				r.name, r.format(need), r.format(max(left, 0)), r.format(quota)))
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%w: %s", backend.ErrInsufficientResources, strings.Join(lacks, "; "))
	}
	return nil
}

// resources are what a size has, in words.
var resources = [...]struct {
	name   string
	of     func(sku.Size) int64
	format func(int64) string
}{
	{"CPU", func(s sku.Size) int64 { return s.MilliCPU }, formatCPU},
	{"memory", func(s sku.Size) int64 { return s.MemoryMB }, formatMB},
	{"disk", func(s sku.Size) int64 { return s.DiskMB }, formatMB},
}

func formatCPU(milli int64) string {
	if milli == 1000 {
		return "1 core"
	}
	return sku.FormatCores(milli) + " cores"
}

func formatMB(mb int64) string { return fmt.Sprintf("%d MB", mb) }
