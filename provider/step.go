package provider

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/id"
)

// Stepper is what a provider implements whose orchestrator does not pursue a
// rollout by itself: somebody must call Step until it is at rest. The daemon's
// engine does, by instance; Await does for one.
type Stepper interface {
	// Step makes one pass: it looks, does what can be done now, and waits for
	// nothing. The answer is after how much time to come again at the latest;
	// zero means that the instance is at rest, as wanted or failed, until something
	// happens to it. After Deprovision it is zero without an error, and an
	// instance that never was is ErrNotFound. After an error the caller comes
	// again with a backoff of its own.
	//
	// Two Steps of one instance never work at once; a second one waits for the
	// first.
	Step(ctx context.Context, instanceID id.ID) (requeueAfter time.Duration, err error)
}

// Watcher is what a provider implements that hears of changes from its
// orchestrator.
type Watcher interface {
	// Watch calls fn with every instance that something happened to, until ctx
	// ends or the connection is lost, and returns why. It calls ready once, when
	// nothing that happens from then on is missed; whoever needs more lists then. fn and
	// ready are called from one goroutine and must not block.
	Watch(ctx context.Context, ready func(), fn func(id.ID)) error
}
