package memory_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
)

// keeping is a stateful set whose replicas have volumes of the tenant.
func keeping(replicas int, ids ...string) provider.ProvisionRequest {
	req := request()
	req.Kind = provider.KindStatefulSet
	req.Services[0].Resources.Replicas = replicas
	req.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data", IDs: ids}}
	return req
}

func provision(t *testing.T, p provider.Provider, req provider.ProvisionRequest) {
	t.Helper()
	if _, err := p.Provision(t.Context(), req); err != nil {
		t.Fatal(err)
	}
}

func TestAnInstanceWaitsForAVolumeThatAnotherWrites(t *testing.T) {
	inBubble(t, memory.Stepped, func(t *testing.T, _ *memorytest.World, p provider.Provider) {
		first, second := keeping(1, "v"), keeping(1, "v")
		provision(t, p, first)
		ready(t, p, first.InstanceID)
		provision(t, p, second)
		st, err := p.Status(t.Context(), second.InstanceID)
		if err != nil || st.Ready || st.Reason != provider.ReasonVolumeInUse || st.State != provider.StateStarting {
			t.Fatalf("beside the first the second is %+v, %v", st, err)
		}
		if err := p.Deprovision(t.Context(), first.InstanceID); err != nil {
			t.Fatal(err)
		}
		ready(t, p, second.InstanceID)
	})
}

func TestAWaitForAVolumeEnds(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, _ *memorytest.World, p provider.Provider) {
		first, second := keeping(1, "v"), keeping(1, "v")
		provision(t, p, first)
		began := time.Now()
		provision(t, p, second)
		st, err := p.Status(t.Context(), second.InstanceID)
		if err != nil || st.State != provider.StateFailed || st.Reason != provider.ReasonVolumeInUse || time.Since(began) < second.Rollout.ReadyTimeout {
			t.Errorf("after %s it is %+v, %v", time.Since(began), st, err)
		}
	})
}

func TestAReleaseWithFewerVolumesHasFewerReplicas(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, p provider.Provider) {
		req := keeping(1, "a")
		provision(t, p, req)
		more := provider.DeployRequest{InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{
			Name: "web", Image: "any:2", Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/data", IDs: []string{"b", "c"}}}, Resources: &provider.ResourceSpec{Replicas: 2},
		}}}
		if _, err := p.Deploy(t.Context(), more); err != nil {
			t.Fatal(err)
		}
		if n := len(w.Cluster.Inspect(req.InstanceID)); n != 2 {
			t.Fatalf("there are %d containers", n)
		}
		if err := p.Rollback(t.Context(), req.InstanceID, id.Nil); err != nil {
			t.Fatal(err)
		}
		st := ready(t, p, req.InstanceID)
		if n := len(w.Cluster.Inspect(req.InstanceID)); n != 1 || len(st.Services["web"].Replicas) != 1 {
			t.Errorf("rolled back there are %d containers, %+v", n, st)
		}
		if err := p.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 2}); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("more replicas than volumes: %v", err)
		}
		if got := w.Cluster.KeptVolumes(); !slices.Equal(got, []string{"acme/a", "acme/b", "acme/c"}) {
			t.Errorf("there are the volumes %q", got)
		}
	})
}

func TestWhatAnImageDeclares(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, p provider.Provider) {
		inspect := p.(provider.ImageInspector).InspectImage
		w.Cluster.AddImage("db:1", memory.Image{Fetching: true})
		if _, err := inspect(t.Context(), "db:1"); !errors.Is(err, provider.ErrPending) {
			t.Errorf("while it is fetched: %v", err)
		}
		w.Cluster.AddImage("db:1", memory.Image{Volumes: []string{"/var/lib/db/", "/conf"}, User: "999"})
		info, err := inspect(t.Context(), "db:1")
		if err != nil || info.Digest == "" || info.User != "999" || !slices.Equal(info.Volumes, []string{"/conf", "/var/lib/db"}) {
			t.Errorf("it declares %+v, %v", info, err)
		}
		if _, err := inspect(t.Context(), "unknown:1"); !errors.Is(err, provider.ErrImageUnavailable) {
			t.Errorf("without an image: %v", err)
		}
	})
}
