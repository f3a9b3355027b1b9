package netns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/infratest"
	"github.com/berth-cloud/berth/secrets"
)

// brief leaves out of a run of all tests what takes long with a real engine in every
// machine; `make conformance` runs every case.
const brief = "BERTH_TEST_BRIEF"

func TestMachinesOfNamespacesKeepTheContract(t *testing.T) {
	groups := map[string]bool{}
	for _, c := range infratest.Cases() {
		group, _, _ := strings.Cut(c.Name, "/")
		if os.Getenv(brief) != "" && groups[group] {
			continue
		}
		groups[group] = true
		t.Run(c.Name, func(t *testing.T) { c.Run(t, fixture(newBench(t), true)) })
	}
	if os.Getenv(brief) != "" {
		t.Logf("%s is set: the first case of every group, %d of %d; make conformance runs all", brief, len(groups), len(infratest.Cases()))
	}
}

// With an engine that only answers there can be more machines at once.
func TestManyMachinesKeepTheContract(t *testing.T) {
	infratest.Run(t, func(t testing.TB) infratest.Fixture {
		return fixture(newBench(t, light(t)), false)
	})
}

func fixture(b *bench, heavy bool) infratest.Fixture {
	fx := hostdirtest.Fixture(owner, func(o infra.Owner) infra.Provider { return b.open(o) })
	fx.Prepare = func(r *infra.CreateInstanceRequest) {
		content := strings.ReplaceAll(r.UserData.RevealString(), "\n", "\n    ")
		r.UserData = secrets.NewSecretString("#cloud-config\nwrite_files:\n- path: /etc/berth/suite\n  content: |\n    " + content + "\n")
	}
	fx.Place, fx.Count, fx.Output = b.place, b.count, b.output
	fx.Heavy, fx.Patience = heavy, time.Minute
	return fx
}

// count is how many machines of an instance there are: first processes, or else
// folders, as something is left while one is there.
func (b *bench) count(instanceID string) int {
	folder := filepath.Join(b.home(owner), instanceID)
	n := len(firstProcesses(folder))
	if _, err := os.Stat(folder); err == nil {
		n = max(n, 1)
	}
	return n
}

// output is the log, and what people find in the folders of the machines: not the
// files that the user data asked for.
func (b *bench) output() string {
	all := b.log.String()
	for _, pattern := range []string{"*/*", "*/log/*"} {
		found, _ := filepath.Glob(filepath.Join(b.home(owner), pattern))
		for _, name := range found {
			if text, err := os.ReadFile(name); err == nil {
				all += string(text)
			}
		}
	}
	return all
}
