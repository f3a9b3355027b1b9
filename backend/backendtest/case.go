package backendtest

import (
	"context"
	"testing"
)

// T is what a case needs of a test; *testing.T and testing.TB have it. FailNow and
// SkipNow, which Fatalf and Skipf end with, must not return.
type T interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(f func())
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

	// Needs are the features without which the case is skipped.
	Needs []Feature

	run func(e *env)
}

// Cases are all cases of the suite, in the order in which Run runs them.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{
		provisionCases, infoCases, unknownCases, deprovisionCases, listCases, stateCases,
		restartCases, updateCases, releaseCases, logCases, loadCases, domainCases,
		retentionCases, restoreCases, concurrentCases, cancelCases(),
	} {
		all = append(all, group...)
	}
	return all
}

// Run holds a backend to every case. newFixture is called once for each; the
// fixtures may share a backend unless they are parallel.
func Run(t *testing.T, newFixture func(t testing.TB) Fixture) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			fx := newFixture(t)
			if fx.Parallel {
				t.Parallel()
			}
			c.Run(t, fx)
		})
	}
}

// Run runs one case on a fixture.
func (c Case) Run(t T, fx Fixture) {
	t.Helper()
	for _, need := range c.Needs {
		if !fx.has(need) {
			t.Skipf("the backend lacks %q", need)
		}
	}
	if fx.Patience <= 0 {
		fx.Patience = DefaultPatience
	}
	ctx, cancel := context.WithTimeout(t.Context(), fx.Patience)
	defer cancel()
	c.run(newEnv(ctx, t, fx))
}
