package qemu_test

import (
	"context"
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
		return infratest.Fixture{
			Provider: b.open(owner),
			Owner:    owner,
			Advance: func(ctx context.Context) error {
				hostdirtest.Pause(ctx)
				return ctx.Err()
			},
			Other:         func(o infra.Owner) infra.Provider { return b.open(o) },
			Reopen:        func() infra.Provider { return b.open(owner) },
			Place:         b.place,
			Count:         b.count,
			Output:        b.output,
			UnknownArg:    "flavour",
			UnknownSubnet: "nowhere",
			Settle:        1,
			Patience:      time.Minute,
		}
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
