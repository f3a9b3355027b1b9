package netns_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/netns"
)

// light are machines with an engine that only answers, for tests of all else.
func light(t testing.TB) func(c *netns.Config) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stub := filepath.Join(t.TempDir(), stubEngine)
	if err := os.Symlink(self, stub); err != nil {
		t.Fatal(err)
	}
	return func(c *netns.Config) { c.Engine = stub }
}

// cuttable is a place for light machines, for the tests that every provider with such
// folders passes.
func cuttable(t *testing.T, change ...func(*netns.Config)) hostdirtest.Bench {
	b := newBench(t, append(change, light(t))...)
	deletes := []string{"mark", "end", "link", "network", "cgroups", "contents", "record"}
	if b.config.ConnectMachines {
		deletes = slices.Insert(deletes, 2, "rule")
	}
	return hostdirtest.Bench{
		Owner: owner, Dir: b.config.Dir,
		Open:    func() hostdirtest.Provider { return b.open(owner) },
		Running: func(ctx context.Context, p infra.Provider, instanceID string) { b.running(ctx, p, instanceID) },
		Count:   b.count,
		Left:    leftOf,
		Creates: []string{
			"record", "lock", "files", "spec", "network", "link", "forward", "host's address", "machine's address", "launch", "answer",
		},
		Deletes: deletes,
	}
}

func TestACreateThatWasCutAnywhereConvergesOnOneMachine(t *testing.T) {
	hostdirtest.CutCreates(t, cuttable(t))
}

func TestADeleteTakesAwayWhatACutCreateLeft(t *testing.T) {
	hostdirtest.CutCreatesThatNobodyRepeats(t, cuttable(t))
}

func TestADeleteThatWasCutAnywhereGoesOn(t *testing.T) {
	hostdirtest.CutDeletes(t, cuttable(t, func(c *netns.Config) { c.ConnectMachines = canForward() }))
}

func TestAMachineWhoseStoreIsAwayOrCannotBeReadIsNotTakenForGone(t *testing.T) {
	hostdirtest.StoreIsAwayOrCannotBeRead(t, cuttable(t))
}

// The launcher is another process, which may be killed at its own moments.
func TestALauncherThatWasKilledLeavesNoSecondMachine(t *testing.T) {
	for _, command := range []string{unrecordedCommand, heldCommand} {
		t.Run(command, func(t *testing.T) {
			b := newBench(t, light(t))
			ctx := hostdirtest.Patient(t)
			req := request("#cloud-config\nwrite_files:\n- {path: /var/lib/berth/x, content: one}\n")
			broken := *b
			broken.config.Program = []string{b.config.Program[0], command}
			if inst, err := broken.open(owner).CreateInstance(ctx, req); !errors.Is(err, infra.ErrAmbiguous) {
				t.Fatalf("a create whose launcher was killed: %v, %v, not ErrAmbiguous", inst, err)
			}
			p := b.open(owner)
			inst, err := p.GetInstanceStatus(ctx, req.InstanceID, "")
			if err != nil || inst.Status != infra.StatusPending {
				t.Fatalf("%v, %v, not pending", inst, err)
			}
			if _, err := p.CreateInstance(ctx, req); err != nil {
				t.Fatal(err)
			}
			b.running(ctx, p, req.InstanceID)
			if n := len(firstProcesses(filepath.Join(b.home(owner), req.InstanceID))); n != 1 {
				t.Errorf("%d first processes", n)
			}
		})
	}
}
