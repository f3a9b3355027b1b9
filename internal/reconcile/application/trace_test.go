package application

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// steps are the phases of an attempt's trace, those that only began with a mark.
func (r *rig) steps(attempt int64) []string {
	r.t.Helper()
	events, err := r.store.ListTrace(context.Background(), attempt, 0, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for i, e := range events {
		if e.Service != r.service || e.Message == "" || i > 0 && e.Time.Before(events[i-1].Time) {
			r.t.Errorf("step %d: %+v", i, e)
		}
		switch e.Status {
		case "started":
			e.Phase += "…"
		case "failed":
			e.Phase += "!"
		}
		out = append(out, e.Phase)
	}
	return out
}

func TestEveryStepOfADeployIsARowOfItsTrace(t *testing.T) {
	volume := func(s *spec.Service) {
		s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
		s.Strategy = spec.Recreate
	}
	for _, c := range []struct {
		name  string
		image string
		with  []func(*spec.Service)
		want  []string
	}{
		{"beside each other", "good:2", nil,
			[]string{"resolve", "create", "start", "probe…", "cutover", "drain…", "stop", "remove", "done"}},
		{"one after the other", "good:2", []func(*spec.Service){volume},
			[]string{"resolve", "create", "hold", "stop", "start", "probe…", "cutover", "remove", "done"}},
		{"one that fails", "exits:1", nil,
			[]string{"resolve", "create", "start", "probe…", "failed!", "remove"}},
		{"one that cannot be had", "unknown:1", nil, []string{"pull…", "failed!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", c.with...))
			r.settle(20, time.Minute)
			a := r.apply(r.spec(c.image, c.with...))
			r.settle(40, time.Minute)
			got := r.steps(a.ID)
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("steps %v, want %v", r.steps(a.ID), c.want)
			}
		})
	}
}

// muteStore takes no trace.
type muteStore struct{ *watchedStore }

func (muteStore) AppendTrace(context.Context, ...store.TraceEvent) error {
	return errors.New("the disk is full")
}

func TestADeployWithoutATraceGoesOn(t *testing.T) {
	r := startRig(t)
	r.build = func() *Controller {
		c := r.controller()
		c.store = muteStore{r.store}
		return c
	}
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	a := r.apply(r.spec("good:2"))
	r.settle(20, time.Minute)
	if got := r.attempt(); got.State != store.AttemptSucceeded || r.ready().Status != reconcile.True {
		t.Errorf("attempt %+v, condition %+v", got, r.ready())
	}
	if got := r.steps(a.ID); len(got) > 0 {
		t.Errorf("steps %v: the test's store takes a trace", got)
	}
}

func TestOnlyAnAppsOwnAndEmptyNetworkIsRemoved(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	name := NetworkName("", r.app)
	f := NewDeleteFinalizer(r.store, func(string) (docker.Runtime, error) { return r.engine, nil }, nil, WithInstanceID(rigInstance))

	if err := f.RemoveAppNetwork(t.Context(), r.app, ""); !docker.IsConflict(err) {
		t.Errorf("with a container on it: %v", err)
	}
	if got := r.running(); len(got) != 1 {
		t.Errorf("running %v", got)
	}
	if _, err := r.engine.HTTP(t.Context(), r.address(), "/"); err != nil {
		t.Errorf("the container is off its network: %v", err)
	}

	r.takeAway(r.running()[0])
	theirs := NewDeleteFinalizer(r.store, func(string) (docker.Runtime, error) { return r.engine, nil }, nil, WithInstanceID("another"))
	if err := theirs.RemoveAppNetwork(t.Context(), r.app, ""); err != nil {
		t.Errorf("by another Berth: %v", err)
	}
	if !r.hasNetwork(name) {
		t.Error("another Berth removed it")
	}
	if err := f.RemoveAppNetwork(t.Context(), r.app, ""); err != nil {
		t.Errorf("empty and ours: %v", err)
	}
	if r.hasNetwork(name) {
		t.Error("it is still there")
	}
}

func (r *rig) hasNetwork(name string) bool {
	r.t.Helper()
	all, err := r.engine.ListNetworks(context.Background(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(n docker.NetworkDetail) bool { return n.Name == name })
}
