package backend

import "context"

// Backend provisions leases. Every method may be called by many at once, and ends
// with its context.
type Backend interface {
	// Provision accepts a lease and begins to provision it. The callback says what
	// came of it. A lease that is provisioned, or on its way, is
	// ErrAlreadyProvisioned; one that failed is begun again. A request that can
	// never succeed is ErrValidation; one for which there is no room now is
	// ErrInsufficientResources.
	Provision(ctx context.Context, req ProvisionRequest) error

	// GetInfo tells how a lease that is ready is reached. Any other is
	// ErrNotProvisioned.
	GetInfo(ctx context.Context, leaseUUID string) (*LeaseInfo, error)

	// Deprovision gives a lease up and preempts what is under way for it. It
	// succeeds for a lease that is not known.
	Deprovision(ctx context.Context, leaseUUID string) error

	// ListProvisions is every lease that the backend has, or an error.
	ListProvisions(ctx context.Context) ([]ProvisionInfo, error)

	// LookupProvisions is those of at most MaxLookupUUIDs leases that the backend
	// has. One that it has not is left out.
	LookupProvisions(ctx context.Context, leaseUUIDs []string) ([]ProvisionInfo, error)

	// Health is nil while the backend can do its work.
	Health(ctx context.Context) error

	// RefreshState looks at what really runs, so that what is read next is not old.
	RefreshState(ctx context.Context) error

	// GetProvision is one lease: as it is, else as it is retained, else as it
	// failed last. Without any of these it is ErrNotProvisioned.
	GetProvision(ctx context.Context, leaseUUID string) (*ProvisionInfo, error)

	// GetLogs is the last tail lines of each container, by "service/index". A lease
	// that is not known is ErrNotProvisioned.
	GetLogs(ctx context.Context, leaseUUID string, tail int) (map[string]string, error)

	// Restart makes every container of a lease anew from the same manifest. A lease
	// that is not known is ErrNotProvisioned, one that cannot be restarted now
	// ErrInvalidState.
	Restart(ctx context.Context, req RestartRequest) error

	// Update brings a lease to another manifest. It has the errors of Restart, and
	// ErrValidation.
	Update(ctx context.Context, req UpdateRequest) error

	// Restore provisions a new lease with the data that is retained of an earlier
	// one. There being none, or that of another tenant, is ErrNotRetained; a shape
	// that does not fit ErrValidation or ErrDemoteDataExceedsTier; a new lease that
	// is already there ErrAlreadyProvisioned; one that cannot be restored now
	// ErrInvalidState.
	Restore(ctx context.Context, req RestoreRequest) error

	// ReconcileCustomDomain makes the custom domains of a running lease those of
	// the items. For a lease that is not known, not active or already so it does
	// nothing.
	ReconcileCustomDomain(ctx context.Context, leaseUUID string, items []LeaseItem) error

	// GetReleases is what was deployed of a lease, oldest first. A lease that is not
	// known is ErrNotProvisioned.
	GetReleases(ctx context.Context, leaseUUID string) ([]ReleaseInfo, error)

	// GetLoadStats is how much of the capacity is allocated. A backend that does not
	// count may answer nil, or a snapshot without a ratio.
	GetLoadStats(ctx context.Context) (*LoadStats, error)

	// ListRetentions is every lease whose data is retained, or an error. A backend
	// that retains nothing answers with none.
	ListRetentions(ctx context.Context) ([]RetainedLease, error)

	// Name is what the backend is called in the configuration.
	Name() string
}

// ProvisionPager is a backend that finds one page of its leases without going
// through all of them.
type ProvisionPager interface {
	// PageProvisions is what PaginateProvisions would make of ListProvisions.
	PageProvisions(ctx context.Context, continueToken string, limit int) (page []ProvisionInfo, next string, err error)
}

// RetentionPager is that for ListRetentions.
type RetentionPager interface {
	PageRetentions(ctx context.Context, continueToken string, limit int) (page []RetainedLease, next string, err error)
}
