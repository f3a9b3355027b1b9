package hostdir_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/infratest"
)

func TestStandInsKeepTheContract(t *testing.T) {
	infratest.Run(t, func(t testing.TB) infratest.Fixture {
		b := newBench(t)
		fx := hostdirtest.Fixture(owner, func(o infra.Owner) infra.Provider { return b.open(o) })
		fx.Place, fx.Count, fx.Output = b.place, b.count, b.output
		return fx
	})
}

// output is the log, and what is in the folders.
func (b *bench) output() string {
	all := b.log.String()
	found, _ := filepath.Glob(filepath.Join(b.folder("*"), "*"))
	for _, name := range found {
		if text, err := os.ReadFile(name); err == nil {
			all += string(text)
		}
	}
	return all
}

func cuttable(t *testing.T) hostdirtest.Bench {
	b := newBench(t)
	return hostdirtest.Bench{
		Owner: owner, Dir: b.dir,
		Open: func() hostdirtest.Provider { return b.open(owner) },
		Running: func(ctx context.Context, p infra.Provider, instanceID string) {
			inst, err := p.GetInstanceStatus(ctx, instanceID, "")
			if err != nil || inst.Status != infra.StatusRunning {
				t.Fatalf("%v, %v, not running", inst, err)
			}
		},
		Count:   b.count,
		Left:    func(string) []string { return nil },
		Creates: []string{"record", "name", "life", "start"},
		Deletes: []string{"mark", "contents", "forget"},
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
