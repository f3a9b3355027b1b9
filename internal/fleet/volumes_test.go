package fleet_test

import (
	"net/netip"
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/store"
)

var appSubnet2 = netip.MustParsePrefix("10.9.2.0/24")

func (r *rig) volumes(id string) []string {
	r.t.Helper()
	all, err := r.engine(id).ListVolumes(r.ctx, nil)
	r.must(err)
	var out []string
	for _, v := range all {
		out = append(out, v.Name)
	}
	return out
}

func data() docker.VolumeSpec {
	return docker.VolumeSpec{Name: "berth_shop_data", Labels: map[string]string{docker.LabelInstance: instance, docker.LabelApp: app, docker.LabelVolume: "data"}}
}

func TestAVolumeIsMadeWhereTheAppIsPlaced(t *testing.T) {
	r := newRig(t, "n1")
	rt := r.For(on("n1"))
	for range 2 {
		r.must(rt.EnsureVolume(r.ctx, data()))
	}
	if len(r.volumes("")) > 0 || len(r.volumes("n1")) != 1 {
		t.Errorf("here %v, n1 %v", r.volumes(""), r.volumes("n1"))
	}
	all, err := r.All().ListVolumes(r.ctx, map[string]string{docker.LabelApp: app})
	if err != nil || len(all) != 1 || all[0].Name != data().Name {
		t.Errorf("listed %+v, %v", all, err)
	}
}

func TestAVolumeIsNotMadeEmptyWhereTheAppMoved(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.must(r.For(on("n1")).EnsureVolume(r.ctx, data()))
	wantErr(t, r.For(on("n2")).EnsureVolume(r.ctx, data()), docker.ErrConflict, "node n1", "node n2")
	wantErr(t, r.For(on("")).EnsureVolume(r.ctx, data()), docker.ErrConflict, "node n1", "this machine")
	r.set("n1", false)
	for _, p := range []store.Placement{on("n2"), without("n1", "n2")} {
		wantErr(t, r.For(p).EnsureVolume(r.ctx, data()), docker.ErrUnavailable, "node n1")
	}
	wantErr(t, r.For(on("n1")).EnsureVolume(r.ctx, data()), docker.ErrUnavailable, "node n1")
	if len(r.volumes("n2"))+len(r.volumes("")) > 0 {
		t.Errorf("n2 has %v, this machine %v", r.volumes("n2"), r.volumes(""))
	}
}

func TestAVolumeIsOnOneNodeOfASpreadAndChangesNoReplicasPlace(t *testing.T) {
	r := newRig(t, "n1", "n2")
	rt := r.For(on("n2", "n1"))
	wantErr(t, rt.EnsureVolume(r.ctx, data()), docker.ErrConflict, "n1", "n2")
	for i := range 2 {
		_, err := rt.Create(r.ctx, replica(i))
		r.must(err)
	}
	r.wantListed(rt, "0a1b2c3d n2 created", "0a1b2c3d-r1 n1 created")
}

func TestTheFilesOfAContainerOfASpreadAreOnItsNodeOnly(t *testing.T) {
	r := newRig(t, "n1", "n2")
	rt := r.For(on("", "n1", "n2"))
	spec := replica(1)
	files := docker.VolumeSpec{Name: spec.Name + ".files0", Labels: map[string]string{
		docker.LabelInstance: instance, docker.LabelApp: app, docker.LabelService: service, docker.LabelFiles: spec.Name,
	}}
	spec.Mounts = []docker.Mount{{Volume: files.Name, Path: "/etc/app"}}
	spec.VolumeLabels = map[string]map[string]string{files.Name: files.Labels}
	r.must(rt.EnsureVolume(r.ctx, files))
	_, err := rt.Create(r.ctx, spec)
	r.must(err)
	r.must(rt.CopyInto(r.ctx, spec.Name, "/etc/app", []docker.File{{Path: "f", Data: []byte("x")}}))
	for id, want := range map[string]int{"": 0, "n1": 1, "n2": 0} {
		if got := r.volumes(id); len(got) != want {
			t.Errorf("%q has %v", id, got)
		}
	}
	all, err := rt.ListVolumes(r.ctx, map[string]string{docker.LabelInstance: instance, docker.LabelFiles: ""})
	if err != nil || len(all) != 1 || all[0].Labels[docker.LabelFiles] != spec.Name {
		t.Fatalf("listed %+v, %v", all, err)
	}
	r.must(rt.Remove(r.ctx, spec.Name))
	r.set("n2", false)
	r.must(rt.RemoveVolume(r.ctx, files.Name))
	if got := r.volumes("n1"); len(got) > 0 {
		t.Errorf("n1 has %v", got)
	}
}

func TestSomebodyElsesVolumeIsNotTakenForTheFiles(t *testing.T) {
	r := newRig(t, "n1")
	spec := replica(1)
	spec.Mounts = []docker.Mount{{Volume: "vol", Path: "/etc/app"}}
	spec.VolumeLabels = map[string]map[string]string{"vol": {docker.LabelFiles: spec.Name}}
	r.must(r.engine("n1").EnsureVolume(r.ctx, docker.VolumeSpec{Name: "vol", Labels: map[string]string{docker.LabelFiles: "another"}}))
	_, err := r.For(on("", "n1")).Create(r.ctx, spec)
	wantErr(t, err, docker.ErrConflict, "n1")
}

func TestAVolumeIsRemovedWhereverItIs(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.must(r.For(on("n1")).EnsureVolume(r.ctx, data()))
	r.must(r.engine("n2").EnsureVolume(r.ctx, data()))
	r.must(r.For(on("")).RemoveVolume(r.ctx, data().Name))
	if len(r.volumes("n1"))+len(r.volumes("n2")) > 0 {
		t.Errorf("left %v, %v", r.volumes("n1"), r.volumes("n2"))
	}
	r.must(r.All().RemoveVolume(r.ctx, data().Name))
}

func TestAVolumeThatMayBeOnANodeThatIsOfflineIsNotRemoved(t *testing.T) {
	r := newRig(t, "n1")
	r.must(r.For(on("n1")).EnsureVolume(r.ctx, data()))
	r.set("n1", false)
	wantErr(t, r.All().RemoveVolume(r.ctx, data().Name), docker.ErrUnavailable, "n1")
	r.must(r.All().RemoveVolume(r.ctx, "another"))
	for _, rt := range []docker.Runtime{r.For(without("n1", "")), r.All()} {
		wantErr(t, rt.RemoveVolume(r.ctx, data().Name), docker.ErrUnavailable, "n1")
	}
	r.open(nil) // nobody knows any more what is there
	wantErr(t, r.All().RemoveVolume(r.ctx, "another"), docker.ErrUnavailable, "n1")
}

func TestAVolumeInUseStays(t *testing.T) {
	r := newRig(t, "n1")
	r.must(r.For(on("n1")).EnsureVolume(r.ctx, data()))
	spec := replica(0)
	spec.Mounts = []docker.Mount{{Volume: data().Name, Path: "/data"}}
	_, err := r.For(on("n1")).Create(r.ctx, spec)
	r.must(err)
	wantErr(t, r.All().RemoveVolume(r.ctx, data().Name), docker.ErrConflict, "n1")
}

func TestVolumesAreListedWithoutANodeThatDoesNotAnswerUnlessTheAppIsThere(t *testing.T) {
	r := newRig(t, "n1", "n2")
	r.must(r.For(on("n1")).EnsureVolume(r.ctx, data()))
	r.must(r.engine("n2").EnsureVolume(r.ctx, docker.VolumeSpec{Name: "other", Labels: data().Labels}))
	r.listed(r.All()) // which looks at n1 for the first time
	fault := dockertest.Fault{Call: dockertest.CallListVolumes, Kind: dockertest.FailBefore}
	r.engine("n1").Script(fault)
	for _, want := range []int{1, 2} {
		all, err := r.For(on("n2")).ListVolumes(r.ctx, map[string]string{docker.LabelApp: app})
		if err != nil || len(all) != want {
			t.Errorf("listed %+v, %v, want %d", all, err, want)
		}
	}
	r.engine("n1").Script(fault)
	_, err := r.For(on("n1")).ListVolumes(r.ctx, map[string]string{docker.LabelApp: app})
	wantErr(t, err, docker.ErrUnavailable, "n1")
	sizes, err := r.All().VolumeSizes(r.ctx)
	if err != nil || len(sizes) != 2 {
		t.Errorf("sizes %v, %v", sizes, err)
	}
}
