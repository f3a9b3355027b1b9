package dockerprovider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/provider"
)

// keeping is a stateful set whose replicas have volumes of the tenant.
func keeping(replicas int, ids ...string) provider.ProvisionRequest {
	req := request()
	req.Kind = provider.KindStatefulSet
	req.Services[0].Resources.Replicas = replicas
	req.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data", IDs: ids}}
	return req
}

// kept are the ids of the tenant's volumes.
func (r *rig) kept(tenant string) []string {
	r.Helper()
	list, err := r.d.KeptVolumes(r.Context(), tenant)
	r.ok(err)
	var out []string
	for _, v := range list {
		out = append(out, v.ID)
		if v.CreatedAt.IsZero() || tenant != "" && v.TenantID != tenant {
			r.Errorf("a volume is %+v", v)
		}
	}
	return out
}

func TestAVolumeOfATenantStaysAndIsMountedAgain(t *testing.T) {
	r := newRig(t)
	req := keeping(2, "a", "b", "spare")
	r.running(req)
	if got := r.kept(tenant); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("there are the volumes %q", got)
	}
	for _, c := range r.containers(req.InstanceID) {
		want := r.d.keptVolume(tenant, map[string]string{"0": "a", "1": "b"}[c.Labels[docker.LabelReplica]]).Name
		if len(c.Mounts) != 1 || c.Mounts[0].Volume != want || c.Mounts[0].Path != "/data" {
			t.Errorf("%s mounts %+v, want %s", c.Name, c.Mounts, want)
		}
		made, _ := r.engine.Spec(c.Name)
		volume := map[string]string{"0": "a", "1": "b"}[c.Labels[docker.LabelReplica]]
		marks := map[string]string{docker.LabelInstance: DefaultOwner, docker.LabelTenant: tenant, docker.LabelKept: volume}
		if !maps.Equal(made.VolumeLabels[want], marks) { // none is the workload's
			t.Errorf("the volume's marks are %v, want %v", made.VolumeLabels[want], marks)
		}
		r.ok(r.engine.CopyInto(t.Context(), c.ID, "/data", []docker.File{{Path: "who", Data: []byte(c.Labels[docker.LabelReplica])}}))
	}
	r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	r.same("what is left", len(r.leftovers(req.InstanceID)), 0)
	usage, err := r.d.KeptVolumeUsage(t.Context(), tenant, []string{"a", "b", "nobody"})
	if r.ok(err); usage["a"] == 0 || len(usage) != 2 {
		t.Errorf("they hold %v", usage)
	}
	next := keeping(1, "b")
	r.running(next)
	r.same("what the volume holds", r.exec(next.InstanceID, "", "cat", "/data/who"), "1")
}

func TestVolumesOfTenantsNeverMeet(t *testing.T) {
	r := newRig(t)
	names := map[string]bool{}
	for _, owner := range []string{"a", "a-b", "A", "a:b", "a@b.c", "b-a"} {
		for _, volume := range []string{"a", "b", "b-a", "a-b"} {
			names[r.d.keptVolume(owner, volume).Name] = true
		}
	}
	r.same("names", len(names), 24)
	mine, theirs := keeping(1, "v"), keeping(1, "v")
	theirs.TenantID = "ten-2"
	r.running(mine)
	r.running(theirs)
	r.same("volumes of everybody", len(r.kept("")), 2)
	r.ok(r.d.Deprovision(t.Context(), mine.InstanceID))
	r.is(r.d.RemoveKeptVolume(t.Context(), "ten-2", "v"), provider.ErrBusy, "while a container has it")
	r.is(r.d.RemoveKeptVolume(t.Context(), "ten-3", "v"), provider.ErrNotFound, "somebody else's")
	r.ok(r.d.RemoveKeptVolume(t.Context(), tenant, "v"))
	r.ok(r.d.RemoveKeptVolume(t.Context(), tenant, "never"))
	r.same("volumes that are left", fmt.Sprint(r.kept("")), "[v]")
	r.ok(r.d.Stop(t.Context(), theirs.InstanceID))
	r.is(r.d.RemoveKeptVolume(t.Context(), "ten-2", "v"), provider.ErrBusy, "while a stopped container has it")
}

func TestWhatIsNotMarkedIsNotTouched(t *testing.T) {
	r := newRig(t)
	lie := docker.VolumeSpec{Name: "precious", Labels: r.d.keptLabels(tenant, "v")}
	r.ok(r.engine.EnsureVolume(t.Context(), lie))
	other := r.d.keptVolume(tenant, "w")
	other.Labels[docker.LabelInstance] = "another-berth"
	r.ok(r.engine.EnsureVolume(t.Context(), other))
	r.same("volumes", len(r.kept("")), 0)
	r.ok(r.d.RemoveKeptVolume(t.Context(), tenant, "v"))
	r.ok(r.d.RemoveKeptVolume(t.Context(), tenant, "w"))
	all, err := r.engine.ListVolumes(t.Context(), nil)
	if r.ok(err); len(all) != 2 {
		t.Errorf("volumes are gone: %+v", all)
	}
}

func TestTwoInstancesNeverWriteOneVolume(t *testing.T) {
	r := newRig(t)
	first, second := keeping(1, "v"), keeping(1, "v")
	first.Rollout.ReadyTimeout, second.Rollout.ReadyTimeout = time.Hour, time.Hour
	r.running(first)
	_, err := r.d.Provision(t.Context(), second)
	r.ok(err)
	for range 20 {
		after, err := r.d.Step(t.Context(), second.InstanceID)
		r.ok(err)
		r.clock.Advance(max(after, 10*time.Millisecond))
	}
	st := r.status(second.InstanceID)
	if st.State != provider.StateStarting || st.Reason != provider.ReasonVolumeInUse || st.Message != "volume v is in use by another instance" {
		t.Errorf("beside the first the second is %+v", st)
	}
	r.same("containers that run", len(r.containers(second.InstanceID)), 0)
	r.ok(r.d.Stop(t.Context(), first.InstanceID))
	r.ready(second.InstanceID)
	r.ok(r.d.Start(t.Context(), first.InstanceID))
	if st := r.status(first.InstanceID); st.Ready || st.Reason != provider.ReasonVolumeInUse {
		t.Errorf("beside the second the first is %+v", st)
	}
	r.restart(false)
	r.is(r.d.Start(t.Context(), first.InstanceID), provider.ErrBusy, "a start without a record")
	r.ok(r.d.Deprovision(t.Context(), second.InstanceID))
	r.ok(r.d.Start(t.Context(), first.InstanceID))
}

func TestAReaderNeedsNotWait(t *testing.T) {
	r := newRig(t)
	writer, reader := keeping(1, "v"), keeping(1, "v")
	reader.Services[0].Volumes[0].ReadOnly = true
	r.running(writer)
	r.running(reader)
}

func TestAVolumeIsNotWaitedForEndlessly(t *testing.T) {
	r := newRig(t)
	first, second := keeping(1, "v"), keeping(1, "v")
	r.running(first)
	_, err := r.d.Provision(t.Context(), second)
	r.ok(err)
	st := r.settle(second.InstanceID)
	if st.State != provider.StateFailed || st.Reason != provider.ReasonVolumeInUse {
		t.Errorf("in the end it is %+v", st)
	}
	r.ok(r.d.Deprovision(t.Context(), first.InstanceID))
	_, err = r.d.Provision(t.Context(), second)
	r.ok(err)
	r.ready(second.InstanceID)
}

func TestADeployMayNameOtherVolumes(t *testing.T) {
	r := newRig(t)
	req := keeping(1, "a")
	r.running(req)
	volumes := func(ids ...string) provider.ServiceDeploySpec {
		return provider.ServiceDeploySpec{Name: "web", Image: "web:1", Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/data", IDs: ids}}}
	}
	mounted := func(volume string) {
		t.Helper()
		r.ready(req.InstanceID)
		all := r.containers(req.InstanceID)
		if len(all) != 1 || all[0].Mounts[0].Volume != r.d.keptVolume(tenant, volume).Name {
			t.Errorf("it runs as %+v, want one container with volume %s", all, volume)
		}
	}
	r.deploy(req.InstanceID, volumes("b"))
	mounted("b")
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, id.Nil))
	mounted("a")
	r.is(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 2}), provider.ErrInvalid, "more replicas than volumes")
	_, err := r.d.Deploy(t.Context(), provider.DeployRequest{InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{volumes("b", "a")}})
	r.is(err, provider.ErrInvalid, "the volume of another replica")
}

func TestAKilledProviderMakesEachVolumeOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		for cut := 1; ; cut++ {
			k := &killer{left: cut, after: after}
			s := newStory(t, k)
			s.req = keeping(2, "a", "b")
			s.call("provision", func() error { _, err := s.d.Provision(t.Context(), s.req); return err })
			s.until("ready", func(st *provider.InstanceStatus) bool { return st.Ready })
			if got := s.kept(tenant); !slices.Equal(got, []string{"a", "b"}) {
				t.Fatalf("cut %d (after: %t): there are the volumes %q", cut, after, got)
			}
			s.call("deprovision", func() error { return s.d.Deprovision(t.Context(), s.req.InstanceID) })
			if left := s.leftovers(s.req.InstanceID); len(left) > 0 {
				t.Fatalf("cut %d (after: %t) leaves %q", cut, after, left)
			}
			s.call("list", func() error { _, err := s.d.KeptVolumes(t.Context(), tenant); return err })
			for _, volume := range []string{"a", "b"} {
				s.call("remove", func() error { return s.d.RemoveKeptVolume(t.Context(), tenant, volume) })
			}
			if got := s.kept(""); len(got) > 0 {
				t.Fatalf("cut %d (after: %t): there are still %q", cut, after, got)
			}
			if !k.struck() {
				break
			}
		}
	}
}

func TestWhatAnImageDeclaresIsFetchedBesideTheCall(t *testing.T) {
	r := newRig(t)
	r.engine.AddImage("db:1", docker.Image{Volumes: []string{"/var/lib/db/", "/conf"}, User: "999"}, dockertest.Behaviour{})
	info, err := r.d.InspectImage(t.Context(), "db:1")
	if r.ok(err); info.Digest == "" || info.User != "999" || !slices.Equal(info.Volumes, []string{"/conf", "/var/lib/db"}) {
		t.Errorf("it declares %+v", info)
	}
	var spawned []func()
	r.d.puller.Spawn = func(f func()) { spawned = append(spawned, f) }
	r.engine.AddRemote("reg/db:2", dockertest.Remote{})
	for range 3 { // one fetch for all
		_, err = r.d.InspectImage(t.Context(), "reg/db:2")
		r.is(err, provider.ErrPending, "while it is fetched")
	}
	r.same("fetches", len(spawned), 1)
	spawned[0]()
	if info, err = r.d.InspectImage(t.Context(), "reg/db:2"); err != nil || info.Digest == "" {
		t.Errorf("fetched: %+v, %v", info, err)
	}
	for range 2 { // the next call tries again
		_, err = r.d.InspectImage(t.Context(), "reg/none:1")
		r.is(err, provider.ErrPending, "while nobody knows")
		spawned[len(spawned)-1]()
		_, err = r.d.InspectImage(t.Context(), "reg/none:1")
		r.is(err, provider.ErrImageUnavailable, "an image that there is none of")
	}
	_, err = r.d.InspectImage(t.Context(), "Not An Image")
	r.is(err, provider.ErrImageUnavailable, "no reference")
	for i := range maxInspections + 2 {
		_, err = r.d.InspectImage(t.Context(), fmt.Sprintf("reg/many:%d", i))
		r.is(err, provider.ErrPending, "one of many")
	}
	r.same("fetches at once", r.d.puller.Running(func(string) bool { return true }), maxInspections)
	r.engine.Script(dockertest.Fault{Call: dockertest.CallImage, Kind: dockertest.FailBefore, Err: docker.ErrUnavailable})
	if _, err = r.d.InspectImage(t.Context(), "db:1"); !errors.Is(err, provider.ErrUnavailable) || errors.Is(err, provider.ErrImageUnavailable) {
		t.Errorf("without an engine: %v", err)
	}
}

func TestALimitOfProcessesArrives(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Security = &provider.SecuritySpec{PidsLimit: 64}
	r.running(req)
	for _, c := range r.containers(req.InstanceID) {
		made, _ := r.engine.Spec(c.Name)
		r.same("the limit", made.Resources.PidsLimit, int64(64))
	}
	plain := request()
	r.running(plain)
	for _, c := range r.containers(plain.InstanceID) {
		made, _ := r.engine.Spec(c.Name)
		r.same("no limit", made.Resources.PidsLimit, int64(0))
	}
}
