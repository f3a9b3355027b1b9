package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

// doubled lists a second network beside that of the app.
type doubled struct{ docker.Runtime }

func (d doubled) ListNetworks(ctx context.Context, labels map[string]string) ([]docker.NetworkDetail, error) {
	all, err := d.Runtime.ListNetworks(ctx, labels)
	for i := range all {
		if all[i].Name == appNet {
			second := all[i]
			second.ID = "second"
			all = append(all, second)
		}
	}
	return all, err
}

var nobodyPlaced = fleet.Sweeping{Placed: func(string) (store.Placement, bool) { return store.Placement{}, false }}

func placedOn(nodes ...string) fleet.Sweeping {
	return fleet.Sweeping{Placed: func(string) (store.Placement, bool) { return on(nodes...), true }}
}

func TestASweepRemovesTheSurplusOnceTheKeeperRuns(t *testing.T) {
	for what, c := range map[string]struct {
		placed fleet.Sweeping
		swept  string
		keeper string
	}{
		"placed where it was made anew":      {placedOn("n2"), "n1", "n2"},
		"placed where it was":                {placedOn("n1"), "n1", "n1"},
		"placed nowhere of these":            {placedOn("n3"), "n1", "n1"},
		"the sweep is of the other":          {placedOn("n1"), "n2", "n1"},
		"the sweep is of the keeper's":       {placedOn("n2"), "n2", "n2"},
		"placed nowhere, swept on the other": {nobodyPlaced, "n2", "n1"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1", "n2", "n3")
			twin(r, "n1", "n2")
			r.must(r.engine(c.keeper).Stop(r.ctx, replica(0).Name, 0))
			got, err := r.Sweep(r.ctx, c.swept, c.placed)
			if err != nil || len(got.Removed) > 0 || len(got.Waiting) != 1 {
				t.Fatalf("while the keeper does not run: %+v, %v", got, err)
			}
			if len(r.names("n1")) != 1 || len(r.names("n2")) != 1 {
				t.Fatalf("n1 has %v, n2 %v", r.names("n1"), r.names("n2"))
			}
			r.must(r.engine(c.keeper).Start(r.ctx, replica(0).Name))
			got, err = r.Sweep(r.ctx, c.swept, c.placed)
			if err != nil || !slices.Equal(got.Removed, []string{replica(0).Name}) || len(got.Waiting) > 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			for _, id := range []string{"n1", "n2"} {
				if n := len(r.names(id)); (n == 1) != (id == c.keeper) {
					t.Errorf("%s has %d", id, n)
				}
			}
			got, err = r.Sweep(r.ctx, c.swept, c.placed)
			if err != nil || len(got.Removed)+len(got.Networks) > 0 {
				t.Errorf("the second time: %+v, %v", got, err)
			}
		})
	}
}

func TestASweepWaitsForANodeThatIsOffline(t *testing.T) {
	r := newRig(t, "n1", "n2")
	twin(r, "n1", "n2")
	r.set("n2", false)
	got, err := r.Sweep(r.ctx, "n1", placedOn("n2"))
	if err != nil || len(got.Removed) > 0 || len(got.Waiting) != 1 || len(r.names("n1")) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = r.Sweep(r.ctx, "n2", placedOn("n2"))
	wantErr(t, err, docker.ErrUnavailable, "n2")
}

func TestASweepLooksAgainOnceEveryNodeIsKnown(t *testing.T) {
	r := newRig(t, "n1", "n2")
	twin(r, "n1", "n2")
	r.set("n2", false)
	r.open(nil)
	got, err := r.Sweep(r.ctx, "n1", placedOn("n2"))
	if err != nil || len(got.Removed) > 0 || len(got.Waiting) != 1 || !strings.Contains(got.Waiting[0], "n2") {
		t.Errorf("%+v, %v", got, err)
	}
	r.set("n2", true)
	got, err = r.Sweep(r.ctx, "n1", placedOn("n2"))
	if err != nil || len(got.Removed) != 1 || len(got.Waiting) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What waits for ever would hold up whatever the node is to do.
func TestASweepDoesNotWaitForANodeThatDecidesNothing(t *testing.T) {
	for what, c := range map[string]struct {
		placed store.Placement
		waits  int
	}{
		"placed here":           {on("n1"), 0},
		"the other is given up": {without("n3", "n2"), 0},
		"it may be there":       {on("n3"), 1},
	} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprint(what, ", seen ", seen), func(t *testing.T) {
				r := newRig(t, "n1", "n2", "n3")
				if seen && what != "placed here" {
					twin(r, "n1", "n3")
				} else {
					r.up(on("n1"), 1)
				}
				r.set("n3", false)
				if !seen {
					r.open(nil)
				}
				o := nobodyPlaced
				o.Placed = func(string) (store.Placement, bool) { return c.placed, true }
				got, err := r.Sweep(r.ctx, "n1", o)
				if err != nil || len(got.Removed) > 0 || len(got.Waiting) != c.waits {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}

func TestTheSurplusHasItsGrace(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.engine("n1").AddImage("stubborn:1", docker.Image{ID: "sha256:app"}, dockertest.Behaviour{IgnoreTerm: true})
	twin(r, "n1", "n2")
	before := r.clock.Now()
	o := placedOn("n2")
	o.Grace = 7 * time.Second
	_, err := r.Sweep(r.ctx, "n1", o)
	r.must(err)
	if took := r.clock.Now().Sub(before); took != 7*time.Second {
		t.Errorf("it had %v", took)
	}
}

func TestASweepRemovesWhatBelongsToAServiceThatIsNoMore(t *testing.T) {
	for what, c := range map[string]struct {
		desired bool
		err     error
		removed int
	}{
		"no more":                  {false, nil, 2},
		"desired":                  {true, nil, 0},
		"the store cannot be read": {false, errors.New("the store cannot be read"), 0},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1")
			r.up(on("n1"), 2)
			foreign := replica(3)
			foreign.Labels[docker.LabelInstance] = "other"
			workload := replica(4)
			workload.Labels[docker.LabelWorkload] = "w1"
			for _, s := range []docker.ContainerSpec{foreign, workload} {
				_, err := r.engine("n1").Create(r.ctx, s)
				r.must(err)
			}
			o := placedOn("n1")
			o.Desired = func(context.Context, string) (bool, error) { return c.desired, c.err }
			got, err := r.Sweep(r.ctx, "n1", o)
			if err != nil || len(got.Removed) != c.removed || len(r.names("n1")) != 4-c.removed || (len(got.Waiting) > 0) != (c.err != nil) {
				t.Errorf("%+v, %v; left %v", got, err, r.names("n1"))
			}
		})
	}
}

func TestASweepLeavesNetworksThatAreNeededOrNotOurs(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	_, err := r.engine("n1").CreateNetwork(r.ctx, docker.NetworkSpec{Name: "foreign", Subnet: appSubnet2, Labels: map[string]string{docker.LabelInstance: "other", docker.LabelApp: "x"}})
	r.must(err)
	for what, before := range map[string]func(){
		"this machine has it":                               func() {},
		"this machine lost it, and the app is placed there": func() { r.must(r.here.RemoveNetwork(r.ctx, appNet)) },
	} {
		before()
		got, err := r.Sweep(r.ctx, "n1", placedOn("n1"))
		if err != nil || len(got.Networks) > 0 || len(r.networks("n1")) != 2 {
			t.Errorf("%s: %+v, %v; left %v", what, got, err, r.networks("n1"))
		}
	}
	got, err := r.Sweep(r.ctx, "n1", nobodyPlaced)
	if err != nil || len(got.Networks) > 0 || len(got.Waiting) != 1 {
		t.Errorf("one that a container runs on: %+v, %v", got, err)
	}
}

func TestASweepReportsVolumesAndTouchesNone(t *testing.T) {
	r := newRig(t, "n1")
	ours := map[string]string{docker.LabelInstance: instance, docker.LabelApp: app}
	files := map[string]string{docker.LabelInstance: instance, docker.LabelApp: app, docker.LabelFiles: "shop-web-deadbeef"}
	foreign := map[string]string{docker.LabelInstance: "other"}
	for name, labels := range map[string]map[string]string{"data": ours, "shop-web-deadbeef.files0": files, "foreign": foreign} {
		r.must(r.engine("n1").EnsureVolume(r.ctx, docker.VolumeSpec{Name: name, Labels: labels}))
	}
	got, err := r.Sweep(r.ctx, "n1", placedOn("n1"))
	if err != nil || len(got.Volumes) > 0 {
		t.Errorf("of an app that is placed there: %+v, %v", got, err)
	}
	got, err = r.Sweep(r.ctx, "n1", placedOn(""))
	if err != nil || len(got.Volumes) != 1 || got.Volumes[0].Name != "data" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := r.volumes("n1"); !slices.Equal(got, []string{"data", "foreign"}) {
		t.Errorf("left %v", got)
	}
}

func TestHoldsIsWhatIsOursOnOneNode(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1", "n2"), 2)
	foreign := replica(3)
	foreign.Labels[docker.LabelInstance] = "other"
	_, err := r.engine("n1").Create(r.ctx, foreign)
	r.must(err)
	r.must(r.engine("n1").EnsureVolume(r.ctx, docker.VolumeSpec{Name: "data", Labels: map[string]string{docker.LabelInstance: instance}}))
	list, volumes, err := r.Holds(r.ctx, "n1")
	if err != nil || len(list) != 1 || list[0].Name != replica(0).Name || list[0].Node != "n1" || len(volumes) != 1 {
		t.Errorf("%+v, %+v, %v", list, volumes, err)
	}
	if list, volumes, err := r.Holds(r.ctx, ""); err != nil || len(list)+len(volumes) > 0 {
		t.Errorf("here: %+v, %+v, %v", list, volumes, err)
	}
	r.set("n1", false)
	_, _, err = r.Holds(r.ctx, "n1")
	wantErr(t, err, docker.ErrUnavailable, "n1")
}
