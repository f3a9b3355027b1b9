package fake_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/infra/infratest"
)

var owner = infra.Owner{ClusterID: "suite", Shard: "one"}

// fixture is a cloud of its own for a case.
func fixture(opts fake.Options, faults ...fake.Fault) infratest.Fixture {
	clock := fake.NewClock(time.Time{})
	opts.Now = clock.Now
	cloud := fake.NewCloud(opts)
	cloud.Script(faults...)
	return infratest.Fixture{
		Provider: cloud.Provider(owner),
		Owner:    owner,
		Prepare:  func(r *infra.CreateInstanceRequest) { r.SubnetID = "subnet-a" },
		Advance:  func(ctx context.Context) error { clock.Advance(time.Second); return ctx.Err() },
		Other:    func(o infra.Owner) infra.Provider { return cloud.Provider(o) },
		Reopen:   func() infra.Provider { return cloud.Provider(owner) },
		Place: func(tags map[string]string) (string, func() bool) {
			providerID := cloud.Place(tags)
			return providerID, func() bool {
				for _, m := range cloud.Alive() {
					if m.ProviderInstanceID == providerID {
						return true
					}
				}
				return false
			}
		},
		Count: func(instanceID string) int {
			n := 0
			for _, m := range cloud.Alive() {
				if owner.Is(m.Tags, instanceID) {
					n++
				}
			}
			return n
		},
		Output:        func() string { return fmt.Sprintf("%+v %+v", cloud.History(), cloud.Alive()) },
		UnknownArg:    "flavour",
		UnknownSubnet: "subnet-nowhere",
		Patience:      30 * time.Minute, // of the bubble's time
	}
}

func options() fake.Options {
	return fake.Options{
		BootTime: 3 * time.Second, StopTime: 2 * time.Second, Lingers: 4 * time.Second, ListLag: 2 * time.Second,
		Subnets: map[string]int{"subnet-a": 100}, Args: []string{"image"},
	}
}

// hold runs the suite in virtual time.
func hold(t *testing.T, newFixture func() infratest.Fixture) {
	for _, c := range infratest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.Run(t, newFixture()) })
		})
	}
}

func TestTheFakeKeepsTheContract(t *testing.T) {
	forgets, bare := options(), options()
	forgets.Forgets = true
	bare.BootTime, bare.StopTime, bare.Lingers, bare.ListLag = 0, 0, 0, 0
	for name, opts := range map[string]fake.Options{"with lag": options(), "without memory": forgets, "at once": bare} {
		t.Run(name, func(t *testing.T) { hold(t, func() infratest.Fixture { return fixture(opts) }) })
	}
}

// The first calls of every method meet the fault, and each sixth after them does
// once more.
func TestTheFakeKeepsTheContractUnderEveryFaultThatItPermits(t *testing.T) {
	for _, effect := range fake.Permitted() {
		var faults []fake.Fault
		for at := 1; at < 300; at += 6 {
			faults = append(faults, fake.Fault{From: at, To: at + 1, Do: effect, For: 3 * time.Second})
		}
		t.Run(fmt.Sprint(effect), func(t *testing.T) {
			hold(t, func() infratest.Fixture { return fixture(options(), faults...) })
		})
	}
}
