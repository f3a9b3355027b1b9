package docker_test

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/id"
	engineapi "github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

// declaring makes an image of the lab's that wants to keep two directories.
func (l *lab) declaring(t *testing.T) string {
	ref := l.repo + ":declaring"
	query := url.Values{
		"fromSrc": {"-"}, "repo": {l.repo}, "tag": {"declaring"},
		"changes": {`VOLUME ["/data/","/var/cache"]`, "USER 1000:1000"},
	}
	engineCall(t, l.socket, http.MethodPost, "/v1.41/images/create?"+query.Encode(), bytes.NewReader(fileSystem(t, l.program)))
	t.Cleanup(func() { engineCall(t, l.socket, http.MethodDelete, "/v1.41/images/"+ref+"?force=1", nil) })
	return ref
}

func TestWhatAnImageDeclaresIsKnown(t *testing.T) {
	l := newLab(t)
	ref := l.declaring(t)
	info, err := l.bench(t).provider().(provider.ImageInspector).InspectImage(t.Context(), ref)
	if err != nil || info.User != "1000:1000" || !slices.Equal(info.Volumes, []string{"/data", "/var/cache"}) {
		t.Errorf("it declares %+v, %v", info, err)
	}
}

// TestVolumesThatOnlyAnImageDeclaresGoWithTheirContainer: an engine makes one of its
// own for each directory that nothing is mounted at.
func TestVolumesThatOnlyAnImageDeclaresGoWithTheirContainer(t *testing.T) {
	l := newLab(t)
	b := l.bench(t)
	p := b.provider()
	req := provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: "acme", Kind: provider.KindStatefulSet,
		Services: []provider.ServiceSpec{{
			Name: "web", Image: l.declaring(t), Command: []string{"/program"}, Args: []string{"wait"},
			Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/data", IDs: []string{"v"}}},
		}},
	}
	t.Cleanup(func() { _ = p.Deprovision(context.WithoutCancel(t.Context()), req.InstanceID) })
	if _, err := p.Provision(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	await := func() {
		t.Helper()
		if _, err := provider.Await(t.Context(), p, req.InstanceID, provider.ReadinessPolicy{}); err != nil {
			t.Fatal(err)
		}
	}
	await()
	first := b.mountedAt(req.InstanceID, "/var/cache")
	if len(first) != 1 {
		t.Fatalf("at the other directory there is %q, want a volume of the engine's own", first)
	}
	if err := p.Restart(t.Context(), req.InstanceID); err != nil {
		t.Fatal(err)
	}
	await()
	second := b.mountedAt(req.InstanceID, "/var/cache")
	if err := p.Deprovision(t.Context(), req.InstanceID); err != nil {
		t.Fatal(err)
	}
	all, err := b.client.ListVolumes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all {
		if slices.Contains(slices.Concat(first, second), v.Name) {
			t.Errorf("volume %s of a container that is gone is still there", v.Name)
		}
	}
	if err := p.(provider.VolumeKeeper).RemoveKeptVolume(t.Context(), "acme", "v"); err != nil {
		t.Error(err)
	}
}

// mountedAt are the volumes at a path of the containers of an instance.
func (b *bench) mountedAt(instance id.ID, path string) []string {
	list, err := b.client.List(b.t.Context(), map[string]string{engineapi.LabelInstance: b.owner, engineapi.LabelWorkload: instance.String()})
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, c := range list {
		for _, m := range c.Mounts {
			if m.Path == path {
				out = append(out, m.Volume)
			}
		}
	}
	return out
}
