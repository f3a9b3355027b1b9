package hostdirtest

import (
	"context"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/infratest"
)

// Fixture is what the contract's tests need of a provider with such folders, whoever
// opens it; what is made and counted, and how patiently, is the caller's to add.
func Fixture(o infra.Owner, open func(o infra.Owner) infra.Provider) infratest.Fixture {
	return infratest.Fixture{
		Provider: open(o),
		Owner:    o,
		Advance: func(ctx context.Context) error {
			Pause(ctx)
			return ctx.Err()
		},
		Other:         open,
		Reopen:        func() infra.Provider { return open(o) },
		UnknownArg:    "flavour",
		UnknownSubnet: "nowhere",
		Settle:        1, // a list of folders is never behind
	}
}
