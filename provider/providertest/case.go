package providertest

import (
	"context"
	"testing"

	"github.com/berth-cloud/berth/provider"
)

// T is what a case needs of a test; *testing.T and testing.TB have it. FailNow
// and SkipNow, which Fatalf and Skipf end with, must not return.
type T interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(f func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

var _ T = testing.TB(nil)

// Case is one rule, or a part of one.
type Case struct {
	// Name is the name of the case's test below Run's, such as
	// "Provision/Repeated".
	Name string

	// Needs are the capabilities without which the case is skipped.
	Needs []provider.Capability

	// Alone cases never run beside others.
	Alone bool

	run func(e *env)
}

// Cases are all cases of the suite, in the order in which Run runs them.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{
		callCases, capabilityCases, groupCases, readyCases, deployCases, rolloutCases, rollbackCases, scaleCases,
		startStopCases, secretCases, nameCases, logCases, execCases, resourceCases, cancelCases, concurrentCases,
		deprovisionCases, recoveryCases, stepCases, keptCases, imageCases,
	} {
		all = append(all, group...)
	}
	return all
}

// Run holds a provider to every case. newFixture is called once for each; the
// fixtures may share an orchestrator and a vault when their tenants differ.
func Run(t *testing.T, newFixture func(t testing.TB) Fixture) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			fx := newFixture(t)
			if fx.Parallel && !c.Alone {
				t.Parallel()
			}
			c.Run(t, fx)
		})
	}
}

// Run runs one case on a fixture that nothing else uses.
func (c Case) Run(t T, fx Fixture) {
	t.Helper()
	for _, need := range c.Needs {
		if !provider.HasCapability(fx.Provider, need) {
			t.Skipf("the provider does not list %q", need)
		}
	}
	patience := fx.Patience
	if patience <= 0 {
		patience = DefaultPatience
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.run(newEnv(ctx, t, fx))
}
