package backend

import "fmt"

// defaultServiceName is that of an item without one.
const defaultServiceName = "app"

// NormalizeProvisionRequest gives the item of a request that has one item, and no
// service's name in it, the name "app". Several items must all be named; a request
// without items is ErrValidation, and names that are missing are
// ErrInvalidManifest. It changes the request in place, but not the items that the
// caller handed over.
func NormalizeProvisionRequest(req *ProvisionRequest) error {
	items, err := NormalizeItems(req.Items)
	if err != nil {
		return err
	}
	req.Items = items
	return nil
}

// NormalizeItems does so for the items of any request, and bounds their
// quantities: none below zero, and neither one nor their sum above MaxQuantity.
func NormalizeItems(items []LeaseItem) ([]LeaseItem, error) {
	if len(items) == 0 {
		return nil, fmt.Errorf("%w: the lease has no items", ErrValidation)
	}
	out, total, unnamed := make([]LeaseItem, len(items)), 0, 0
	for i, item := range items {
		if item.Quantity < 0 || item.Quantity > MaxQuantity {
			return nil, fmt.Errorf("%w: the quantity %d of item %d is not between 0 and %d", ErrValidation, item.Quantity, i+1, MaxQuantity)
		}
		if total += item.Quantity; total > MaxQuantity {
			return nil, fmt.Errorf("%w: the items have more than %d in sum", ErrValidation, MaxQuantity)
		}
		if item.ServiceName == "" {
			unnamed++
		}
		out[i] = item
	}
	switch {
	case unnamed == 0:
	case len(out) == 1:
		out[0].ServiceName = defaultServiceName
	case unnamed == len(out):
		return nil, fmt.Errorf("%w: a lease with %d items needs the name of a service in each", ErrInvalidManifest, len(out))
	default:
		return nil, fmt.Errorf("%w: %d of %d items lack the name of their service", ErrInvalidManifest, unnamed, len(out))
	}
	return out, nil
}
