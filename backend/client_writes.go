package backend

import "context"

// change asks an endpoint to do something to leases.
func change[T any](ctx context.Context, c *HTTPClient, e *endpoint[T], body any, leases ...string) error {
	for _, id := range leases {
		if err := checkLease(id); err != nil {
			return c.fail(e.operation, err)
		}
	}
	_, err := call(ctx, c, e, request{body: body})
	return err
}

// Provision asks for a lease. It is ErrValidation, or one of its kinds, when it can
// never succeed, ErrAlreadyProvisioned when the lease is there, and
// ErrInsufficientResources when there is no room for it now.
func (c *HTTPClient) Provision(ctx context.Context, req ProvisionRequest) error {
	return change(ctx, c, &endpointProvision, req, req.LeaseUUID)
}

// Deprovision gives a lease up. It may be asked again.
func (c *HTTPClient) Deprovision(ctx context.Context, leaseUUID string) error {
	return change(ctx, c, &endpointDeprovision, DeprovisionRequest{LeaseUUID: leaseUUID}, leaseUUID)
}

// Restart asks for new containers of a lease. It is ErrNotProvisioned when there is
// no such lease, and ErrInvalidState when that cannot be done now.
func (c *HTTPClient) Restart(ctx context.Context, req RestartRequest) error {
	return change(ctx, c, &endpointRestart, req, req.LeaseUUID)
}

// Update asks for another manifest. It has the errors of Restart, and ErrValidation
// with its kinds.
func (c *HTTPClient) Update(ctx context.Context, req UpdateRequest) error {
	return change(ctx, c, &endpointUpdate, req, req.LeaseUUID)
}

// Restore asks for a new lease with the data of an earlier one. It is ErrNotRetained
// when there is none, ErrDemoteDataExceedsTier when it does not fit,
// ErrRestoreRefused when it is refused for a reason that is not known here,
// ErrAlreadyProvisioned when the new lease is there, ErrInvalidState when it cannot
// be done now, and ErrValidation and ErrInsufficientResources as in Provision.
func (c *HTTPClient) Restore(ctx context.Context, req RestoreRequest) error {
	return change(ctx, c, &endpointRestore, req, req.LeaseUUID, req.FromLeaseUUID)
}

// ReconcileCustomDomain asks for the custom domains of the items. The backend does
// nothing when they are so already.
func (c *HTTPClient) ReconcileCustomDomain(ctx context.Context, leaseUUID string, items []LeaseItem) error {
	body := ReconcileCustomDomainRequest{LeaseUUID: leaseUUID, Items: items}
	return change(ctx, c, &endpointCustomDomain, body, leaseUUID)
}
