package daemon

import (
	"context"
	"io"
	"net/netip"

	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// StateStore keeps a provider's records in a store.
func StateStore(records store.RecordStore) provider.StateStore { return stateStore{records} }

// Unlocked opens what another process may hold, and waits for a moment when one does:
// one that was just killed holds it for that long. What is held for longer is
// store.ErrLocked.
func Unlocked[T any](ctx context.Context, open func() (T, error)) (T, error) {
	return unlocked(ctx, open)
}

// ClaimInstance keeps an instance to one process until it is closed, or the process
// ends, whatever copies of the data directory there are. An instance that is taken is
// store.ErrLocked.
func ClaimInstance(ctx context.Context, instance, dataDir string) (io.Closer, error) {
	return claimInstance(ctx, instance, dataDir)
}

// Facts identify this boot of the machine and the engine's start.
func Facts(ctx context.Context) (ingress.Facts, error) { return facts(ctx) }

// HostRoutes are the IPv4 prefixes that this machine already reaches some way, but
// for the default route.
func HostRoutes() ([]netip.Prefix, error) { return hostRoutes() }
