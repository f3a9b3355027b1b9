package engine_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestEnsureVolumeAcceptsItsOwnOnly(t *testing.T) {
	r := newRig(t)
	name := r.prefix + "-volume"
	mine := docker.VolumeSpec{Name: name, Labels: map[string]string{"berth.enginetest": r.prefix, "owner": "me"}}
	for range 2 {
		if err := r.EnsureVolume(r.ctx(), mine); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, r.EnsureVolume(r.ctx(), docker.VolumeSpec{Name: name, Labels: map[string]string{"owner": "you"}}), docker.ErrConflict)
	wantErr(t, r.EnsureVolume(r.ctx(), docker.VolumeSpec{Name: name, Labels: map[string]string{"other": "label"}}), docker.ErrConflict)
	wantErr(t, r.EnsureVolume(r.ctx(), docker.VolumeSpec{Name: "not/a name"}), docker.ErrInvalid)
	volumes, err := r.ListVolumes(r.ctx(), r.label)
	if err != nil || len(volumes) != 1 || volumes[0].Name != name || volumes[0].Labels["owner"] != "me" || volumes[0].Created.IsZero() {
		t.Fatalf("listed %+v, %v", volumes, err)
	}
	spec := r.probe("holder", "wait")
	spec.Mounts = []docker.Mount{{Volume: name, Path: "/data"}}
	id := r.create(spec)
	wantErr(t, r.RemoveVolume(r.ctx(), name), docker.ErrConflict)
	if err := r.Remove(r.ctx(), id); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.RemoveVolume(r.ctx(), name); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
}

func TestNetworksTellWhoIsOnThem(t *testing.T) {
	r := newRig(t)
	spec := r.probe("member", "wait")
	spec.Network.Network = r.prefix // by name, where the others go by id
	id := r.run(spec)
	idle := r.probe("idle", "wait")
	r.create(idle)
	networks, err := r.ListNetworks(r.ctx(), r.label)
	if err != nil || len(networks) != 1 {
		t.Fatalf("listed %+v, %v", networks, err)
	}
	n := networks[0]
	if n.ID != r.net || n.Name != r.prefix || n.Driver != "bridge" || !slices.Equal(n.Subnets, []netip.Prefix{r.subnet}) ||
		n.Gateway != r.subnet.Addr().Next() || n.Created.IsZero() || n.Labels["berth.enginetest"] != r.prefix {
		t.Errorf("network %+v", n)
	}
	if want := []docker.NetworkMember{{ContainerID: id, Name: spec.Name, Address: spec.Network.Address}}; !slices.Equal(n.Attached, want) {
		t.Errorf("attached %+v", n.Attached)
	}
	all, err := r.ListNetworks(r.ctx(), nil)
	if err != nil || !slices.ContainsFunc(all, func(n docker.NetworkDetail) bool { return n.Name == "bridge" }) {
		t.Errorf("all networks: %+v, %v", all, err)
	}
	wantErr(t, r.RemoveNetwork(r.ctx(), r.prefix), docker.ErrConflict)
	if err := r.RemoveNetwork(r.ctx(), r.prefix+"-none"); err != nil {
		t.Errorf("remove a missing one: %v", err)
	}
}

func TestASecondNetworkOfANameOrSubnetIsRefused(t *testing.T) {
	r := newRig(t)
	other := netip.PrefixFrom(r.subnet.Addr().Prev(), 24).Masked()
	_, err := r.CreateNetwork(r.ctx(), docker.NetworkSpec{Name: r.prefix, Subnet: other, Labels: r.label})
	wantErr(t, err, docker.ErrConflict)
	inside := netip.PrefixFrom(r.subnet.Addr(), 25)
	_, err = r.CreateNetwork(r.ctx(), docker.NetworkSpec{Name: r.prefix + "-2", Subnet: inside, Labels: r.label})
	wantErr(t, err, docker.ErrSubnetOverlap)
	_, err = r.CreateNetwork(r.ctx(), docker.NetworkSpec{Name: r.prefix + "-3"})
	wantErr(t, err, docker.ErrInvalid)
}

func TestAliasesResolveOnTheNetwork(t *testing.T) {
	r := newRig(t)
	spec := r.probe("named", "listen:80", "out:up", "wait")
	spec.Network.Aliases = []string{"db", "db.internal"}
	untilLine(t, r, r.run(spec), "up")
	lines, _ := r.finish(r.probe("asker", "resolve:db", "resolve:db.internal", "resolve:"+spec.Name))
	want := spec.Network.Address.String()
	if got := text(lines); !slices.Equal(got, []string{want, want, want}) {
		t.Errorf("resolved %q, want %s", got, want)
	}
}
