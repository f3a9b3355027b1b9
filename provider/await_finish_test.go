package provider_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// ending is a provider whose change has a verdict at once and takes some steps
// more until it is at rest.
type ending struct {
	provider.Provider
	verdict provider.InstanceStatus
	left    int // steps until it is at rest, and available
	gap     time.Duration
	steps   int
}

func (e *ending) Step(context.Context, id.ID) (time.Duration, error) {
	e.steps++
	if e.left--; e.left < 0 {
		return 0, nil
	}
	return e.gap, nil
}

func (e *ending) Status(context.Context, id.ID) (*provider.InstanceStatus, error) {
	st := e.verdict
	st.Available = e.left <= 0
	return &st, nil
}

func TestAwaitMakesTheStepsThatEndAChange(t *testing.T) {
	for name, c := range map[string]struct {
		verdict   provider.InstanceStatus
		left      int
		gap       time.Duration
		steps     int
		available bool
		within    time.Duration
	}{
		"the old release is taken away":           {provider.InstanceStatus{State: provider.StateRunning, Ready: true}, 3, 100 * time.Millisecond, 4, true, time.Second},
		"a watch over what serves is not for it":  {provider.InstanceStatus{State: provider.StateRunning, Ready: true}, 1000, 2 * time.Second, 2, false, time.Second},
		"a close watch ends it after some time":   {provider.InstanceStatus{State: provider.StateRunning, Ready: true}, 1000, 100 * time.Millisecond, 32, false, 4 * time.Second},
		"the old release is brought back":         {provider.InstanceStatus{State: provider.StateFailed}, 5, 2 * time.Second, 6, true, 10 * time.Second},
		"what cannot be brought back is given up": {provider.InstanceStatus{State: provider.StateFailed}, 1000, 10 * time.Second, 32, false, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := &ending{verdict: c.verdict, left: c.left, gap: c.gap}, time.Now()
				st, err := provider.Await(t.Context(), p, id.New(id.KindWorkload), provider.ReadinessPolicy{})
				if c.verdict.Ready != (err == nil) || st.Available != c.available {
					t.Errorf("status %+v, %v", st, err)
				}
				if took := time.Since(began); p.steps > c.steps || took > c.within {
					t.Errorf("%d steps in %s", p.steps, took)
				}
			})
		})
	}
}
