package fleet_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
)

func (r *rig) networks(id string) []string {
	r.t.Helper()
	all, err := r.engine(id).ListNetworks(r.ctx, map[string]string{docker.LabelInstance: ""})
	r.must(err)
	var out []string
	for i := range all {
		out = append(out, all[i].Name+" "+all[i].Subnets[0].String())
	}
	slices.Sort(out)
	return out
}

func TestAnEngineThatRefusesTheSubnetIsNamed(t *testing.T) {
	r := newRig(t, "n1")
	r.engine("n1").AddHostRoute(netip.MustParsePrefix("10.9.0.0/16"))
	_, err := r.For(on("n1")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrSubnetOverlap, "node n1", appSubnet.String(), appNet)
	if _, err := r.All().Inspect(r.ctx, replica(0).Name); !docker.IsNotFound(err) {
		t.Errorf("inspect: %v", err)
	}
}

func TestANetworkOfSomebodyElseStaysAndIsAnError(t *testing.T) {
	r := newRig(t, "n1")
	_, err := r.engine("n1").CreateNetwork(r.ctx, docker.NetworkSpec{Name: appNet, Subnet: netip.MustParsePrefix("10.77.0.0/24"), Labels: map[string]string{docker.LabelInstance: "other"}})
	r.must(err)
	_, err = r.For(on("n1")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrConflict, "node n1", "somebody else")
	if got := r.networks("n1"); !slices.Equal(got, []string{appNet + " 10.77.0.0/24"}) {
		t.Errorf("networks %v", got)
	}
}

func TestAnOlderNetworkOfOursMakesRoomUnlessContainersRunOnIt(t *testing.T) {
	for _, busy := range []bool{false, true} {
		r := newRig(t, "n1")
		r.up(on("n1"), 1)
		if !busy {
			r.must(r.All().Stop(r.ctx, replica(0).Name, 0))
		}
		// Meanwhile the app was given another subnet.
		r.must(r.here.RemoveNetwork(r.ctx, appNet))
		_, err := r.here.CreateNetwork(r.ctx, docker.NetworkSpec{Name: appNet, Subnet: netip.MustParsePrefix("10.9.7.0/24"), Labels: map[string]string{
			docker.LabelInstance: instance, docker.LabelApp: app,
		}})
		r.must(err)
		spec := replica(1)
		spec.Network.Address = netip.MustParseAddr("10.9.7.10")
		_, err = r.For(on("n1")).Create(r.ctx, spec)
		want := appNet + " 10.9.7.0/24"
		if busy {
			wantErr(t, err, docker.ErrConflict, "node n1", appSubnet.String())
			want = appNet + " " + appSubnet.String()
		} else if err != nil {
			t.Error(err)
		}
		if got := r.networks("n1"); !slices.Equal(got, []string{want}) {
			t.Errorf("busy %v: networks %v", busy, got)
		}
	}
}

func TestANetworkThatSomebodyRemovedIsMadeAgain(t *testing.T) {
	r := newRig(t, "n1")
	rt := r.For(on("n1"))
	_, err := rt.Create(r.ctx, replica(0))
	r.must(err)
	r.must(r.engine("n1").RemoveNetwork(r.ctx, appNet))
	r.must(rt.Start(r.ctx, replica(0).Name))
	if got := r.networks("n1"); len(got) != 1 {
		t.Errorf("networks %v", got)
	}
}

func TestANetworkThatThisMachineLacksIsNotFound(t *testing.T) {
	r := newRig(t, "n1")
	r.must(r.here.RemoveNetwork(r.ctx, appNet))
	_, err := r.For(on("n1")).Create(r.ctx, replica(0))
	wantErr(t, err, docker.ErrNotFound, appNet)
}

func TestANetworkIsMadeOnceForManyContainers(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	r.here.ResetCalls()
	r.engine("n1").ResetCalls()
	for i := 1; i < 5; i++ {
		_, err := r.For(on("n1")).Create(r.ctx, replica(i))
		r.must(err)
	}
	if n := r.here.CallCount(dockertest.CallAny); n > 0 {
		t.Errorf("this machine was asked %d times", n)
	}
	if n := r.engine("n1").CallCount(dockertest.CallAny); n != 4 {
		t.Errorf("n1 was asked %d times for 4 containers: %v", n, r.engine("n1").Calls())
	}
}

func TestANodesBridgeIsNamedByItsSubnet(t *testing.T) {
	r := newRig(t, "n1")
	var asked []netip.Prefix
	r.open(func(o *fleet.Options) {
		o.Bridge = func(p netip.Prefix) string { asked = append(asked, p); return "b0" }
	})
	r.up(on("n1"), 1)
	if !slices.Equal(asked, []netip.Prefix{appSubnet}) {
		t.Errorf("asked for %v", asked)
	}
}

func TestANetworkIsRemovedOnEveryNodeAndHereLast(t *testing.T) {
	r := newRig(t, "n1", "n2", "n3")
	p := on("n1", "n2", "n3")
	r.up(p, 3)
	rt := r.For(p)
	nets, err := rt.ListNetworks(r.ctx, map[string]string{docker.LabelApp: app})
	r.must(err)
	if len(nets) != 1 || len(nets[0].Attached) != 3 {
		t.Fatalf("networks %+v", nets)
	}
	wantErr(t, rt.RemoveNetwork(r.ctx, nets[0].ID), docker.ErrConflict)
	if len(r.networks("")) != 1 {
		t.Error("it is gone from here while containers run on it elsewhere")
	}
	for i := range 3 {
		r.must(rt.Stop(r.ctx, replica(i).Name, 0))
		r.must(rt.Remove(r.ctx, replica(i).Name))
	}
	r.set("n3", false)
	r.must(rt.RemoveNetwork(r.ctx, nets[0].ID))
	for id, want := range map[string]int{"": 0, "n1": 0, "n2": 0} {
		if got := r.networks(id); len(got) != want {
			t.Errorf("%q has %v", id, got)
		}
	}
	r.set("n3", true)
	got, err := r.Sweep(r.ctx, "n3", nobodyPlaced)
	if err != nil || !slices.Equal(got.Networks, []string{appNet}) || len(r.networks("n3")) > 0 {
		t.Errorf("swept %+v, %v; left %v", got, err, r.networks("n3"))
	}
}

// Two networks of one name stand for a moment when an engine was asked twice.
func TestWithTheSecondNetworkOfANameThoseOfOtherNodesStay(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	r.must(r.All().Stop(r.ctx, replica(0).Name, 0))
	double := doubled{Runtime: r.here}
	r.open(func(o *fleet.Options) { o.Local = double })
	r.listed(r.For(on("n1")))
	err := r.All().RemoveNetwork(r.ctx, "second")
	r.must(err)
	if len(r.networks("n1")) != 1 {
		t.Error("the network of n1 went with it")
	}
}

func TestAFailureToRemoveItElsewhereKeepsItHere(t *testing.T) {
	r := newRig(t, "n1")
	r.up(on("n1"), 1)
	r.must(r.All().Stop(r.ctx, replica(0).Name, 0))
	broken := errors.New("broken")
	r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallRemoveNetwork, Kind: dockertest.FailBefore, Err: broken})
	wantErr(t, r.All().RemoveNetwork(r.ctx, appNet), broken, "n1")
	if len(r.networks("")) != 1 {
		t.Error("it is gone from here")
	}
	r.must(r.All().RemoveNetwork(r.ctx, appNet))
	if len(r.networks(""))+len(r.networks("n1")) > 0 {
		t.Error("it is left")
	}
}
