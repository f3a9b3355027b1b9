package provider_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// fixed is a provider with a name, capabilities and a script of statuses; every
// other method panics.
type fixed struct {
	provider.Provider
	name   string
	caps   []provider.Capability
	status provider.StatusFunc
}

func (f fixed) Info() provider.ProviderInfo         { return provider.ProviderInfo{Name: f.name} }
func (f fixed) Capabilities() []provider.Capability { return f.caps }
func (f fixed) Status(ctx context.Context, _ id.ID) (*provider.InstanceStatus, error) {
	return f.status(ctx)
}

// stepping answers each Step in turn, and then again and again with the last.
type stepping struct {
	fixed
	steps []stepAnswer
	at    []time.Time // of every Step
}

type stepAnswer struct {
	after time.Duration
	err   error
}

func (s *stepping) Step(context.Context, id.ID) (time.Duration, error) {
	a := s.steps[min(len(s.at), len(s.steps)-1)]
	s.at = append(s.at, time.Now())
	return a.after, a.err
}

func TestAwaitOfAProviderThatAdvancesByItselfOnlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		p := fixed{status: script(&reads, answer{starting, nil}, answer{ready, nil})}
		if st, err := provider.Await(t.Context(), p, id.New(id.KindWorkload), provider.ReadinessPolicy{}); err != nil || st != ready || reads != 2 {
			t.Errorf("Await: %v, %v after %d reads", st, err, reads)
		}
	})
}

func TestAwaitStepsWhenThatIsDue(t *testing.T) {
	broken := errors.New("engine does not answer")
	for name, c := range map[string]struct {
		steps []stepAnswer
		waits []time.Duration
	}{
		"as told":                         {[]stepAnswer{{20 * time.Millisecond, nil}, {time.Second, nil}}, []time.Duration{20 * time.Millisecond, time.Second}},
		"at rest: by the interval":        {[]stepAnswer{{0, nil}}, []time.Duration{5 * time.Second, 5 * time.Second}},
		"far away: by the interval":       {[]stepAnswer{{time.Hour, nil}}, []time.Duration{5 * time.Second, 5 * time.Second}},
		"after errors: at longer times":   {[]stepAnswer{{0, broken}, {0, broken}, {0, broken}, {time.Second, nil}}, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, time.Second, time.Second}},
		"after a success: from the start": {[]stepAnswer{{0, broken}, {0, broken}, {time.Second, nil}, {0, broken}, {time.Second, nil}}, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, time.Second, 100 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &stepping{steps: c.steps}
				p.status = func(context.Context) (*provider.InstanceStatus, error) {
					if len(p.at) > len(c.waits) {
						return ready, nil
					}
					return starting, nil
				}
				if st, err := provider.Await(t.Context(), p, id.New(id.KindWorkload), provider.ReadinessPolicy{}); err != nil || st != ready {
					t.Fatalf("Await: %v, %v", st, err)
				}
				for i, want := range c.waits {
					if got := p.at[i+1].Sub(p.at[i]); got != want {
						t.Errorf("step %d came %s after the one before, want %s", i+1, got, want)
					}
				}
			})
		})
	}
}

func TestAwaitGivesUpOnAnUnknownInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &stepping{steps: []stepAnswer{{0, provider.ErrNotFound}}}
		began := time.Now()
		if _, err := provider.Await(t.Context(), p, id.New(id.KindWorkload), provider.ReadinessPolicy{}); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("Await: %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAwaitReportsWhyStepsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("engine does not answer")
		p := &stepping{steps: []stepAnswer{{0, broken}}}
		_, err := provider.Await(t.Context(), p, id.New(id.KindWorkload), provider.ReadinessPolicy{Timeout: time.Minute})
		if !errors.Is(err, provider.ErrNotReady) || !errors.Is(err, broken) {
			t.Errorf("Await: %v", err)
		}
		if len(p.at) > 25 {
			t.Errorf("%d steps in a minute of failures", len(p.at))
		}
	})
}
