package qemu_test

import (
	"context"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
)

// cuttable is a place for machines, for the tests that every provider with such folders
// passes. A machine is all in its folder.
func cuttable(t *testing.T) hostdirtest.Bench {
	b := newBench(t)
	return hostdirtest.Bench{
		Owner: owner, Dir: b.config.Dir,
		Open: func() hostdirtest.Provider { return b.open(owner) },
		Running: func(ctx context.Context, p infra.Provider, instanceID string) {
			b.becomes(ctx, p, instanceID, infra.StatusRunning)
		},
		Count:   b.count,
		Left:    func(string) []string { return nil },
		Creates: []string{"record", "name", "disk", "seed", "launch", "started"},
		Deletes: []string{"mark", "system_powerdown", "quit", "contents", "record"},
	}
}

func TestACreateThatWasCutAnywhereConvergesOnOneMachine(t *testing.T) {
	hostdirtest.CutCreates(t, cuttable(t))
}

func TestADeleteTakesAwayWhatACutCreateLeft(t *testing.T) {
	hostdirtest.CutCreatesThatNobodyRepeats(t, cuttable(t))
}

func TestADeleteThatWasCutAnywhereGoesOn(t *testing.T) {
	hostdirtest.CutDeletes(t, cuttable(t))
}

func TestAMachineWhoseStoreIsAwayOrCannotBeReadIsNotTakenForGone(t *testing.T) {
	hostdirtest.StoreIsAwayOrCannotBeRead(t, cuttable(t))
}
