package infratest

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// DefaultPatience bounds a case, for a provider of which nothing waits on a real
// boot. One with real machines says more in its Fixture.
const DefaultPatience = 30 * time.Second

// DefaultSettle is how many Advances a list may be behind.
const DefaultSettle = 10

// Fixture is a provider, and what the suite may do beside it. All but Provider,
// Owner and Advance is optional, and cases that need what is not there are
// skipped with a word.
type Fixture struct {
	Provider infra.Provider
	Owner    infra.Owner

	// Prepare makes a request one that this provider takes: type, subnet, args.
	// The same request must be made of it each time.
	Prepare func(req *infra.CreateInstanceRequest)

	// Advance lets a little time pass, as the provider counts it, before the
	// suite looks again: a clock is moved, or a moment is waited for.
	Advance func(ctx context.Context) error

	// Settle is how often Advance is called until no list can be behind what was
	// made before; 0 means DefaultSettle.
	Settle int

	// Other opens the same machines for another owner.
	Other func(o infra.Owner) infra.Provider

	// Reopen opens the same machines for the same owner once more, as after a
	// restart of the process that held Provider.
	Reopen func() infra.Provider

	// Place makes a machine with these tags beside the provider, as somebody else
	// would. It returns the provider's id, and whether the machine is there.
	Place func(tags map[string]string) (providerID string, there func() bool)

	// Count is how many machines of an instance there really are now, whatever
	// the provider says.
	Count func(instanceID string) int

	// Output is everything that the provider has written so far: its log, its
	// files for people. User data must not be in it.
	Output func() string

	// UnknownArg is an argument that the provider does not know.
	UnknownArg string
	// UnknownSubnet is a subnet that it knows not to exist.
	UnknownSubnet string

	// Heavy leaves out cases that make more than three machines at once, for
	// a provider whose machines are heavy.
	Heavy bool

	// Patience bounds each case; 0 means DefaultPatience.
	Patience time.Duration
}

func needsOther(fx Fixture) string   { return lacking(fx.Other == nil, "Other") }
func needsReopen(fx Fixture) string  { return lacking(fx.Reopen == nil, "Reopen") }
func needsPlace(fx Fixture) string   { return lacking(fx.Place == nil, "Place") }
func needsArg(fx Fixture) string     { return lacking(fx.UnknownArg == "", "UnknownArg") }
func needsSubnet(fx Fixture) string  { return lacking(fx.UnknownSubnet == "", "UnknownSubnet") }
func needsManyIDs(fx Fixture) string { return lacking(fx.Heavy, "light machines") }

func lacking(lacks bool, what string) string {
	if lacks {
		return what
	}
	return ""
}
