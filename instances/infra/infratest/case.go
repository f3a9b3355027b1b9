package infratest

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

// Case is one rule of the contract, or a part of one.
type Case struct {
	// Name is the name of the case's test below Run's, such as "Create/Repeated".
	Name string

	// needs says what the fixture lacks for the case, and is empty when nothing.
	needs func(fx Fixture) string
	run   func(e *env)
}

// Cases are all cases of the suite, in the order in which Run runs them.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{createCases, statusCases, deleteCases, listCases, ownerCases, secretCases, contextCases} {
		all = append(all, group...)
	}
	return all
}

// Run holds a provider to every case. newFixture is called once for each.
func Run(t *testing.T, newFixture func(t testing.TB) Fixture) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, newFixture(t)) })
	}
}

// Run runs one case on a fixture.
func (c Case) Run(t T, fx Fixture) {
	t.Helper()
	if c.needs != nil {
		if lacks := c.needs(fx); lacks != "" {
			t.Skipf("the fixture has no %s", lacks)
		}
	}
	if fx.Patience <= 0 {
		fx.Patience = DefaultPatience
	}
	if fx.Settle <= 0 {
		fx.Settle = DefaultSettle
	}
	ctx, cancel := context.WithTimeout(t.Context(), fx.Patience)
	defer cancel()
	newEnv(ctx, t, fx).start(c.run)
}
