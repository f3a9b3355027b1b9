package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

func TestReplicasAreMadeOnTheNodesOfTheirPlacement(t *testing.T) {
	r := newRig(t, "n1", "n2")
	p := on("", "n1", "n2")
	r.up(p, 4)
	r.wantListed(r.For(p), "0a1b2c3d here running", "0a1b2c3d-r1 n1 running", "0a1b2c3d-r2 n2 running", "0a1b2c3d-r3 here running")
	r.wantListed(r.All(), r.listed(r.For(p))...)
	for i, id := range []string{"", "n1", "n2", ""} {
		if name := replica(i).Name; !slices.Contains(r.names(id), name) {
			t.Errorf("%s is not on %q: %v", name, id, r.names(id))
		}
		s, err := r.For(p).Inspect(r.ctx, replica(i).Name)
		if err != nil || s.Node != id || s.Address != replica(i).Network.Address {
			t.Errorf("inspected %+v, %v", s, err)
		}
	}
	nets, err := r.engine("n1").ListNetworks(r.ctx, map[string]string{docker.LabelInstance: instance})
	if err != nil || len(nets) != 1 || nets[0].Name != appNet || nets[0].Subnets[0] != appSubnet || nets[0].Labels[docker.LabelApp] != app {
		t.Errorf("networks on n1: %+v, %v", nets, err)
	}
}

func TestCallsFindTheContainerWhereverItIs(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1", "n2"), 2)
	for what, open := range map[string]bool{"as it was made": false, "after a restart of the daemon": true} {
		if open {
			r.open(nil)
		}
		for _, rt := range []docker.Runtime{r.All(), r.For(on("")), r.For(on("n1", "n2"))} {
			name := replica(1).Name
			r.must(rt.Update(r.ctx, name, docker.ContainerUpdate{Resources: &docker.Resources{MemoryBytes: 1 << 26}}))
			r.must(rt.CopyInto(r.ctx, name, "/etc", []docker.File{{Path: "f"}}))
			r.must(rt.Signal(r.ctx, name, "HUP"))
			if _, err := rt.Stats(r.ctx, name); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			r.must(rt.Stop(r.ctx, name, 0))
			r.must(rt.Start(r.ctx, name))
			if err := rt.Start(r.ctx, "nobody"); !docker.IsNotFound(err) {
				t.Errorf("%s: %v", what, err)
			}
			r.must(rt.Remove(r.ctx, "nobody"))
		}
	}
	r.must(r.All().Stop(r.ctx, replica(1).Name, 0))
	r.must(r.For(on("")).Remove(r.ctx, replica(1).Name))
	if len(r.names("n2")) > 0 {
		t.Errorf("left on n2: %v", r.names("n2"))
	}
}

func TestWhatRanOnANodeThatIsOfflineIsListedAsItWasSeen(t *testing.T) {
	r := newRig(t, "n1", "n2")
	p := on("n1", "n2")
	r.up(p, 2)
	r.set("n1", false)
	rt := r.For(p)
	r.wantListed(rt, "0a1b2c3d n1 running away", "0a1b2c3d-r1 n2 running")
	r.wantListed(r.All(), "0a1b2c3d n1 running away", "0a1b2c3d-r1 n2 running")
	name := replica(0).Name
	for what, call := range map[string]func() error{
		"inspect": func() error { _, err := rt.Inspect(r.ctx, name); return err },
		"stop":    func() error { return rt.Stop(r.ctx, name, 0) },
		"start":   func() error { return rt.Start(r.ctx, name) },
		"remove":  func() error { return rt.Remove(r.ctx, name) },
		"logs":    func() error { return rt.Logs(r.ctx, name, docker.LogOptions{}, nil) },
		"exec":    func() error { _, err := rt.Exec(r.ctx, name, docker.ExecSpec{}); return err },
		"create":  func() error { _, err := rt.Create(r.ctx, replica(2)); return err },
		"create elsewhere": func() error {
			_, err := r.For(on("n2")).Create(r.ctx, replica(0))
			return err
		},
	} {
		t.Run(what, func(t *testing.T) { wantErr(t, call(), docker.ErrUnavailable, "node n1", "offline") })
	}
	if _, err := rt.Inspect(r.ctx, "nobody"); !docker.IsNotFound(err) {
		t.Errorf("what was never on n1: %v", err)
	}
	r.set("n1", true)
	r.wantListed(r.For(p), "0a1b2c3d n1 running", "0a1b2c3d-r1 n2 running")
}

func TestWhatIsOnANodeThatNobodySawSinceTheStartMayBeThere(t *testing.T) {
	r := newRig(t, "n1", "n2")
	p := on("n1", "n2")
	r.up(p, 2)
	r.set("n1", false)
	r.open(nil)
	rt := r.For(p)
	r.wantListed(rt, "0a1b2c3d-r1 n2 running")
	_, err := rt.Inspect(r.ctx, replica(0).Name)
	wantErr(t, err, docker.ErrUnavailable, "n1")
	wantErr(t, rt.Remove(r.ctx, replica(0).Name), docker.ErrUnavailable, "n1")
	if _, err := rt.Inspect(r.ctx, replica(1).Name); err != nil {
		t.Error(err)
	}
}

func TestAHostThatNeverCameUpHoldsNoAppBackThatIsNotPlacedOnIt(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.set("n2", false) // before anybody looked at it
	r.up(on("n1"), 0)
	rt := r.For(on("n1"))
	if _, err := rt.Inspect(r.ctx, "another"); !docker.IsNotFound(err) {
		t.Errorf("inspect: %v", err)
	}
	r.must(rt.RemoveVolume(r.ctx, "nobodys"))
	// An app that is placed there may have it there, and to who asks for all it may be
	// anywhere.
	if _, err := r.All().Inspect(r.ctx, "another"); !docker.IsUnavailable(err) {
		t.Errorf("inspect by the view of all: %v", err)
	}
	if _, err := r.For(on("n1", "n2")).Inspect(r.ctx, "another"); !docker.IsUnavailable(err) {
		t.Errorf("inspect by who is placed there: %v", err)
	}
	if err := r.All().RemoveVolume(r.ctx, "nobodys"); !docker.IsUnavailable(err) {
		t.Errorf("remove by the view of all: %v", err)
	}
}

func TestANodeThatNobodyKnowsIsAway(t *testing.T) {
	r := newRig(t, "n1")
	rt := r.For(on("n9"))
	_, err := rt.Inspect(r.ctx, replica(0).Name)
	wantErr(t, err, docker.ErrUnavailable, "n9")
	_, err = rt.Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrUnavailable, "n9")
}

func TestWhatIsOnANodeThatIsGoneOrGivenUpIsNotFound(t *testing.T) {
	for what, c := range map[string]struct {
		end func(r *rig)
		p   store.Placement
	}{
		"gone":                   {func(r *rig) { r.gone("n1") }, on("n2")},
		"given up":               {func(r *rig) { r.set("n1", false) }, without("n1", "n2")},
		"given up, before start": {func(r *rig) { r.set("n1", false); r.open(nil) }, without("n1", "n2")},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1", "n2")
			r.up(on("n1", "n2"), 2)
			c.end(r)
			rt := r.For(c.p)
			r.wantListed(rt, "0a1b2c3d-r1 n2 running")
			if _, err := rt.Inspect(r.ctx, replica(0).Name); !docker.IsNotFound(err) {
				t.Errorf("inspect: %v", err)
			}
			r.must(rt.Remove(r.ctx, replica(0).Name))
			_, err := rt.Create(r.ctx, replica(0))
			r.must(err)
			r.must(rt.Start(r.ctx, replica(0).Name))
			r.wantListed(rt, "0a1b2c3d n2 running", "0a1b2c3d-r1 n2 running")
			c.p.Nodes = []string{"n1"}
			_, err = r.For(c.p).Create(r.ctx, replica(5))
			wantErr(t, err, docker.ErrUnavailable, "n1", "placed anew")
		})
	}
}

func TestAMachineThatIsForgottenIsAwayUntilItIsSaidToBeGone(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	list := func(m *fleet.Member) {
		r.others.mu.Lock()
		defer r.others.mu.Unlock()
		delete(r.others.all, "n1")
		if m != nil {
			r.others.all["n1"] = m
		}
	}
	list(nil)
	r.wantListed(r.For(on("")), "0a1b2c3d n1 running away")
	list(&fleet.Member{ID: "n1", Gone: true})
	r.wantListed(r.For(on("")))
	list(nil) // it stays gone when it is listed no more
	r.wantListed(r.For(on("")))
	if _, err := r.For(on("")).Inspect(r.ctx, replica(0).Name); !docker.IsNotFound(err) {
		t.Error(err)
	}
}

func TestANodeThatIsGivenUpIsListedAgainOnceItIsBack(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	p := without("n1", "")
	both := func(p store.Placement, want ...string) {
		t.Helper()
		r.wantListed(r.For(p), want...)
		r.wantListed(r.All(), want...) // by what was told last
	}
	r.set("n1", false)
	both(p)
	r.set("n1", true)
	both(p, "0a1b2c3d n1 running")
	r.set("n1", false)
	both(p)
	both(on(""), "0a1b2c3d n1 running away")
}

// The name is free for its new node by the app's word only.
func TestAReplicaIsMadeAnewUnderItsNameOnceItsNodeIsGivenUp(t *testing.T) {
	for what, view := range map[string]func(r *rig, p store.Placement) docker.Runtime{
		"the app's view":  func(r *rig, p store.Placement) docker.Runtime { return r.For(p) },
		"the view of all": func(r *rig, p store.Placement) docker.Runtime { r.For(p); return r.All() },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1", "n2")
			spec := replica(0)
			files := docker.VolumeSpec{Name: spec.Name + ".files0", Labels: map[string]string{
				docker.LabelInstance: instance, docker.LabelApp: app, docker.LabelService: service, docker.LabelFiles: spec.Name,
			}}
			spec.Mounts = []docker.Mount{{Volume: files.Name, Path: "/etc/app"}}
			create := func(rt docker.Runtime) error {
				if err := rt.EnsureVolume(r.ctx, files); err != nil {
					return err
				}
				_, err := rt.Create(r.ctx, spec)
				return err
			}
			r.must(create(r.For(on("n1"))))
			r.must(r.For(on("n1")).Start(r.ctx, spec.Name))
			r.set("n1", false)
			wantErr(t, create(view(r, on("n2"))), docker.ErrUnavailable, "n1")
			if got := r.names("n2"); len(got) > 0 {
				t.Fatalf("n2 has %v", got)
			}
			rt := view(r, without("n1", "n2"))
			if _, err := rt.Inspect(r.ctx, spec.Name); !docker.IsNotFound(err) {
				t.Errorf("inspect: %v", err)
			}
			r.must(create(rt))
			r.must(rt.CopyInto(r.ctx, spec.Name, "/etc/app", []docker.File{{Path: "f", Data: []byte("x")}}))
			r.must(rt.Start(r.ctx, spec.Name))
			r.wantListed(rt, "0a1b2c3d n2 running")
			if s, err := rt.Inspect(r.ctx, spec.Name); err != nil || s.Node != "n2" {
				t.Errorf("%+v, %v", s, err)
			}
			r.set("n1", true)
			r.wantListed(rt, "0a1b2c3d n2 running")
		})
	}
}

// What one app gave up is another's still.
func TestANodeIsGivenUpByOneAppAlone(t *testing.T) {
	r := newRig(t, "n1", "n2")
	other := named("blog-web-0a1b2c3d", 5)
	other.Labels[docker.LabelApp], other.Labels[docker.LabelService] = "blog", "blog-web"
	r.up(on("n1"), 1)
	blog := store.Placement{AppID: "blog", Nodes: []string{"n1"}}
	_, err := r.For(blog).Create(r.ctx, other)
	r.must(err)
	r.set("n1", false)
	r.wantListed(r.For(without("n1", "n2")))
	for _, rt := range []docker.Runtime{r.For(blog), r.All()} {
		_, err := rt.Inspect(r.ctx, other.Name)
		wantErr(t, err, docker.ErrUnavailable, "n1")
		list, err := rt.List(r.ctx, map[string]string{docker.LabelService: "blog-web"})
		if err != nil || len(list) != 1 || !list[0].Away {
			t.Errorf("listed %+v, %v", list, err)
		}
	}
	if _, err := r.All().Inspect(r.ctx, replica(0).Name); !docker.IsNotFound(err) {
		t.Errorf("what was given up: %v", err)
	}
}

func TestWhereAppsArePlacedIsKeptForThoseThatHaveSomething(t *testing.T) {
	r := newRig(t, "n1", "n2")
	twin(r, "n1", "n2")
	for i := range 1000 {
		r.For(store.Placement{AppID: fmt.Sprint("app", i), Nodes: []string{"n1"}})
	}
	r.wantListed(r.All(), "0a1b2c3d n2 running")
	if n := r.Remembered(); n > 100 {
		t.Errorf("%d are kept", n)
	}
}

func TestASlowNodeIsAwayForOneListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		p := on("n1", "n2")
		r.up(p, 2)
		r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallList, Kind: dockertest.Hang})
		began := time.Now()
		r.wantListed(r.For(p), "0a1b2c3d n1 running away", "0a1b2c3d-r1 n2 running")
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		r.wantListed(r.For(p), "0a1b2c3d n1 running", "0a1b2c3d-r1 n2 running")
	})
}

func TestANodeThatNoPlacementNamesHoldsUpNoListingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		r.up(on("n1"), 1)
		r.open(nil)
		r.engine("n2").Script(dockertest.Fault{Kind: dockertest.Hang, Times: 100})
		began := time.Now()
		for range 10 {
			r.wantListed(r.For(on("n1")), "0a1b2c3d n1 running")
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("ten listings took %v", took)
		}
		began = time.Now()
		_, err := r.For(on("n1")).Inspect(r.ctx, "nobody")
		wantErr(t, err, docker.ErrUnavailable, "n2")
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestOneShortAnswerForgetsNothing(t *testing.T) {
	for _, lie := range []dockertest.Call{dockertest.CallList, dockertest.CallInspect} {
		r := newRig(t, "n1")
		r.up(on("n1"), 1)
		rt := r.For(on("n1"))
		r.engine("n1").Script(dockertest.Fault{Call: lie, Kind: dockertest.LieOnce, Lie: dockertest.LieOmit})
		if lie == dockertest.CallList {
			r.wantListed(rt)
		} else if _, err := rt.Inspect(r.ctx, replica(0).Name); err != nil {
			t.Errorf("a lie is believed: %v", err)
		}
		r.set("n1", false)
		r.wantListed(rt, "0a1b2c3d n1 running away")
	}
}

func TestACreateWithoutAnAnswerMayHaveMadeIt(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.wantListed(r.For(on("n1"))) // n1 was seen
	r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallCreate, Kind: dockertest.FailAfter})
	_, err := r.For(on("n1")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrUnavailable, "n1")
	r.set("n1", false)
	rt := r.For(on("n1", "n2"))
	_, err = rt.Inspect(r.ctx, replica(0).Name)
	wantErr(t, err, docker.ErrUnavailable, "n1")
	_, err = r.For(on("n2")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrUnavailable, "n1")
	r.set("n1", true)
	_, err = r.For(on("n2")).Create(r.ctx, replica(0))
	if !docker.IsUnavailable(err) && !docker.IsConflict(err) {
		t.Errorf("it is made on n2 too: %v", err)
	}
	if s, err := rt.Inspect(r.ctx, replica(0).Name); err != nil || s.Node != "n1" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestANameThatIsOnAnotherNodeIsNotMadeAgain(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1"), 1)
	for _, p := range []string{"n2", ""} {
		_, err := r.For(on(p)).Create(r.ctx, replica(0))
		wantErr(t, err, docker.ErrConflict, "node n1")
	}
	_, err := r.For(on("n1")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrConflict)
}

// What a move left behind is listed in the view of where the app is now.
func TestAPlacementsViewShowsWhatIsLeftOnOtherNodes(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1"), 1)
	r.wantListed(r.For(on("n2")), "0a1b2c3d n1 running")
	r.open(nil)
	r.wantListed(r.For(on("n2")), "0a1b2c3d n1 running")
	r.wantListed(r.For(on("")), "0a1b2c3d n1 running")
}

func TestNodesThatHaveNothingToDoWithAnAppAreNotAskedAboutIt(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1"), 1)
	r.listed(r.For(on("n1")))
	r.engine("n2").ResetCalls()
	r.here.ResetCalls()
	for range 10 {
		r.listed(r.For(on("n1")))
	}
	if n, m := r.engine("n2").CallCount(dockertest.CallAny), r.here.CallCount(dockertest.CallAny); n+m > 0 {
		t.Errorf("n2 was asked %d times, this machine %d times: %+v", n, m, r.here.Calls())
	}
}

func TestThisMachinesFailureFailsTheListing(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("", "n1"), 2)
	r.here.SetDown(true)
	if list, err := r.For(on("", "n1")).List(r.ctx, ofService()); !docker.IsUnavailable(err) {
		t.Errorf("%v, %v", list, err)
	}
}

func TestACallerThatLeavesGetsItsOwnError(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if _, err := r.For(on("n1")).List(ctx, ofService()); err == nil || docker.IsUnavailable(err) || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v", err)
	}
}

func TestOfTwoWithOneNameTheOneWhereItIsPlacedIsListed(t *testing.T) {
	for what, c := range map[string]struct {
		p    []string
		want string
	}{
		"placed on the later node":  {[]string{"n2"}, "n2"},
		"placed on the first":       {[]string{"n1"}, "n1"},
		"placed on neither of them": {[]string{"n3"}, "n1"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, "n1", "n2", "n3")
			twin(r, "n1", "n2")
			p := on(c.p...)
			r.wantListed(r.For(p), "0a1b2c3d "+c.want+" running")
			r.wantListed(r.All(), "0a1b2c3d "+c.want+" running")
			s, err := r.For(p).Inspect(r.ctx, replica(0).Name)
			if err != nil || s.Node != c.want {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// twin has a container of one name on two nodes, as when the first was given up.
func twin(r *rig, first, second string) {
	r.up(on(first), 1)
	r.set(first, false)
	r.up(without(first, second), 1)
	r.set(first, true)
}

func TestAFirstAnswerThatIsShortHidesNothing(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.up(on("n1"), 1)
	r.open(nil)
	r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallList, Kind: dockertest.LieOnce, Lie: dockertest.LieOmit})
	r.wantListed(r.For(on("n2")), "0a1b2c3d n1 running")
}
