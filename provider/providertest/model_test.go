package providertest_test

import (
	"context"
	"flag"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
)

func TestTheModelNoticesABrokenProvider(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "0s")
	for i, tc := range []struct {
		name   string
		break_ func(*mutant)
	}{
		{"variables stay", onChange(func(d *provider.ServiceDeploySpec) { d.Env = nil })},
		{"config files stay", onChange(func(d *provider.ServiceDeploySpec) { d.ConfigFiles = nil })},
		{"Rollback does nothing", func(m *mutant) { m.rollback = func(context.Context, id.ID, id.ID) error { return nil } }},
		{"Scale does nothing", func(m *mutant) {
			m.scale = func(context.Context, id.ID, provider.ResourceSpec) error { return nil }
		}},
		{"Deprovision only stops", func(m *mutant) {
			m.deprovision = func(ctx context.Context, i id.ID) error {
				return without(m.Provider.Stop(ctx, i), provider.ErrNotFound)
			}
		}},
		{"a failure is none", onStatus(func(st *provider.InstanceStatus) {
			if st.Reason == provider.ReasonRolloutFailed {
				st.Reason, st.State, st.Ready = "", provider.StateRunning, true
			}
		})},
	} {
		if i%stride != 0 {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			if !modelFails(t, tc.break_) {
				t.Error("the model did not notice")
			}
		})
	}
}

func setFlag(t *testing.T, name, value string) {
	f := flag.Lookup(name)
	before := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// modelFails runs the model on a mutant.
func modelFails(t *testing.T, break_ func(*mutant)) bool {
	quiet := &quietTB{}
	synctest.Test(t, func(t *testing.T) {
		quiet.TB = t
		quiet.apart(func() {
			providertest.Model(quiet, func(t testing.TB) providertest.Fixture {
				w := memorytest.New(t, memory.Stepped)
				w.Wrap = func(p *memory.Provider) provider.Provider {
					m := &mutant{Provider: p, world: w}
					break_(m)
					return m
				}
				fx := w.Fixture()
				fx.Wait = waitCoarsely
				return fx
			})
		})
	})
	return quiet.failed
}

// waitCoarsely is a Wait that gives up soon, for providers that are broken.
func waitCoarsely(cond func() bool) bool {
	for range 800 {
		if cond() {
			return true
		}
		<-time.After(50 * time.Millisecond)
	}
	return false
}

// quietTB notes that it failed and says nothing.
type quietTB struct {
	testing.TB
	failed bool
}

func (q *quietTB) apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (q *quietTB) Logf(string, ...any)   {}
func (q *quietTB) Errorf(string, ...any) { q.failed = true }
func (q *quietTB) Fail()                 { q.failed = true }
func (q *quietTB) Failed() bool          { return q.failed }

func (q *quietTB) FailNow() {
	q.failed = true
	runtime.Goexit()
}

func (q *quietTB) Fatalf(string, ...any) { q.FailNow() }
