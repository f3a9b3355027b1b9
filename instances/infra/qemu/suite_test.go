package qemu_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/infratest"
)

func TestVirtualMachinesKeepTheContract(t *testing.T) {
	infratest.Run(t, func(t testing.TB) infratest.Fixture {
		b := newBench(t)
		fx := hostdirtest.Fixture(owner, func(o infra.Owner) infra.Provider { return b.open(o) })
		fx.Place, fx.Count, fx.Output = b.place, b.count, b.output
		fx.Patience = time.Minute
		return fx
	})
}

// output is the log, and all files but the seed, which is what the machine reads.
func (b *bench) output() string {
	all := b.log.String()
	found, _ := filepath.Glob(b.file("*", "*"))
	for _, name := range found {
		if strings.HasPrefix(filepath.Base(name), "seed.iso") {
			continue
		}
		if text, err := os.ReadFile(name); err == nil {
			all += string(text)
		}
	}
	return all
}
