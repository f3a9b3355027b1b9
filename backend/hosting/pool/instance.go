package pool

import (
	"fmt"
	"strconv"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/sku"
)

// Instance is one container of a lease, with what it holds.
type Instance struct {
	ID   string // see InstanceID
	Size sku.Size
}

// InstanceID names the index-th instance of a service of a lease, from 0.
func InstanceID(lease, service string, index int) string {
	return lease + "-" + service + "-" + strconv.Itoa(index)
}

// Resolver finds the tier of a SKU; sku.Catalog is one.
type Resolver interface {
	Resolve(sku string) (sku.Tier, error)
}

var _ Resolver = (*sku.Catalog)(nil)

// Instances are those of a lease's items, which backend.NormalizeItems has named.
// Quantities are looked at before anything is made of them. An error is
// backend.ErrUnknownSKU or another backend.ErrValidation.
func Instances(lease string, items []backend.LeaseItem, from Resolver) ([]Instance, error) {
	total := 0
	for _, item := range items {
		if item.Quantity < 0 || item.Quantity > backend.MaxQuantity-total {
			return nil, fmt.Errorf("%w: quantities are from 0 to %d, one by one and in sum", backend.ErrValidation, backend.MaxQuantity)
		}
		total += item.Quantity
	}
	out := make([]Instance, 0, total)
	next := map[string]int{} // index, by service: two items may be of one
	for _, item := range items {
		tier, err := from.Resolve(item.SKU)
		if err != nil {
			return nil, err
		}
		for range item.Quantity {
			out = append(out, Instance{ID: InstanceID(lease, item.ServiceName, next[item.ServiceName]), Size: tier.Size})
			next[item.ServiceName]++
		}
	}
	return out, nil
}

// sum checks the instances of a lease and adds them up. Zero sizes are taken: what
// runs may be older than the rule against them.
func sum(lease string, instances []Instance) (sku.Size, error) {
	if lease == "" {
		return sku.Size{}, fmt.Errorf("%w: the lease has no UUID", backend.ErrValidation)
	}
	if len(instances) > backend.MaxQuantity {
		return sku.Size{}, fmt.Errorf("%w: %d instances are more than %d", backend.ErrValidation, len(instances), backend.MaxQuantity)
	}
	var total sku.Size
	seen := make(map[string]struct{}, len(instances))
	for _, i := range instances {
		if err := bounded(i.Size); err != nil {
			return sku.Size{}, err
		}
		if _, twice := seen[i.ID]; twice || i.ID == "" {
			return sku.Size{}, fmt.Errorf("%w: an instance of lease %s has no name of its own", backend.ErrValidation, lease)
		}
		seen[i.ID] = struct{}{}
		var ok bool
		if total, ok = total.Add(i.Size); !ok {
			return sku.Size{}, errTooMuch
		}
	}
	return total, nil
}

func bounded(s sku.Size) error {
	if s.MilliCPU < 0 || s.MilliCPU > sku.MaxMilliCPU || s.MemoryMB < 0 || s.MemoryMB > sku.MaxMemoryMB || s.DiskMB < 0 || s.DiskMB > sku.MaxDiskMB {
		return fmt.Errorf("%w: the size of an instance is out of bounds", backend.ErrValidation)
	}
	return nil
}

// errTooMuch: more than can be counted.
var errTooMuch = fmt.Errorf("%w: the sizes are more than can be counted", backend.ErrValidation)
