package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/provider"
)

// Pending is the leases that have callbacks waiting, sorted: those to Step after a
// start. A lease whose record cannot be read is one of them, as it may have some; its
// Step says what is wrong. An error of the store is an error, and then there is no
// list. It reads every record, and takes with it what Forget left.
func (o *Outbox) Pending(ctx context.Context) ([]string, error) {
	all, err := o.leases(ctx)
	if err != nil {
		return nil, err
	}
	waiting, rows := []string{}, 0
	for _, lease := range all {
		r, version, err := o.get(ctx, lease)
		switch {
		case errors.Is(err, ErrRecord):
			waiting = append(waiting, lease)
		case err != nil:
			return nil, fmt.Errorf("callbacks of lease %s: %w", lease, err)
		case len(r.Rows) > 0:
			waiting = append(waiting, lease)
			rows += len(r.Rows)
		case r.Forgotten && r.LastSigned < o.cfg.Now().Unix():
			// What cannot be removed now is there for the next start.
			_ = o.cfg.Store.Delete(ctx, o.key(lease), version)
		}
	}
	if o.cfg.Metrics.Pending != nil {
		o.cfg.Metrics.Pending.Set(float64(rows))
	}
	return waiting, nil
}

// Forget removes the callbacks of a lease of which nothing is left, with all that is
// known of it. After that none of them is sent. While one is under way it is ErrBusy,
// and nothing is removed. A lease that is not known is forgotten already.
//
// Where a signature of the lease is ahead of the clock its second is kept, so that the
// first callback of a lease that comes back under the same UUID has a later one.
func (o *Outbox) Forget(ctx context.Context, lease string) error {
	lease, err := leaseName(lease)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for range maxTurns {
		rows, err := o.forget(ctx, lease)
		if err == nil {
			o.cfg.Metrics.pending(-rows)
			return nil
		}
		if !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("callbacks of lease %s: %w: %d writes of others came before", lease, provider.ErrConflict, maxTurns)
}

// forget tries once, and says how many rows are gone.
func (o *Outbox) forget(ctx context.Context, lease string) (rows int, err error) {
	r, version, err := o.get(ctx, lease)
	if err != nil {
		return 0, fmt.Errorf("callbacks of lease %s: %w", lease, err)
	}
	now := o.cfg.Now()
	switch {
	case version == "":
		return 0, nil
	case r.Claim.live(now):
		return 0, fmt.Errorf("callbacks of lease %s: %w", lease, ErrBusy)
	case r.LastSigned >= now.Unix():
		left := &record{Version: recordVersion, LastSigned: r.LastSigned, LastSeq: r.LastSeq, Claims: r.Claims, Forgotten: true}
		return len(r.Rows), o.put(ctx, lease, left, version)
	}
	err = o.cfg.Store.Delete(ctx, o.key(lease), version)
	if errors.Is(err, provider.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("callbacks of lease %s: %w", lease, err)
	}
	return len(r.Rows), nil
}
