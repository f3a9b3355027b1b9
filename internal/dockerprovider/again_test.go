package dockerprovider

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/provider"
)

func TestInstanceCanBeProvisionedAgain(t *testing.T) {
	r := newRig(t)
	req := request()
	for _, image := range []string{"exits:1", "web:1", "web:2"} {
		req.Services[0].Image = image
		_, err := r.d.Provision(t.Context(), req)
		r.ok(err)
		st := r.settle(req.InstanceID)
		r.same(image+" is ready", st.Ready, image != "exits:1")
		r.ok(r.d.Deprovision(t.Context(), req.InstanceID))
	}
}

func TestDeployToAStoppedInstanceServesOnceItIsStarted(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	release := r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:2"})
	st := r.settle(req.InstanceID)
	r.same("state", st.State, provider.StateStopped)
	r.same("running", len(r.containers(req.InstanceID)), 0)
	r.ok(r.d.Start(t.Context(), req.InstanceID))
	r.same("release", r.ready(req.InstanceID).ReleaseID, release)
}

func TestSameContentUnderAnotherReleaseServesToo(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	release := r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:1"})
	r.ok(r.d.Start(t.Context(), req.InstanceID))
	if st := r.status(req.InstanceID); st.ReleaseID != release || st.Ready {
		t.Fatalf("it is to serve and not to be ready yet: %+v", st)
	}
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, release))
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, req.InitialRelease()))
	r.same("release", r.ready(req.InstanceID).ReleaseID, req.InitialRelease())
}

func TestSizeOfAFailedReleaseIsThatOfWhatServes(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "exits:1"})
	r.settle(req.InstanceID)
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 2, MemoryMB: 64}))
	st := r.settle(req.InstanceID)
	r.same("reason", st.Reason, provider.ReasonRolloutFailed)
	r.same("endpoints", len(st.Endpoints), 2)
	for _, c := range r.containers(req.InstanceID) {
		r.same("memory", c.Resources.MemoryBytes, int64(64<<20))
	}
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, id.Nil))
	st = r.ready(req.InstanceID)
	r.same("release", st.ReleaseID, req.InitialRelease())
	r.same("replicas", len(st.Services["web"].Replicas), 2)
}

func TestANumberOfReplicasIsThatOfTheWorkload(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	replicas := func(st *provider.InstanceStatus) int { return len(st.Services["web"].Replicas) }
	// Asked for on the way to a release that fails.
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "never:1"})
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 2}))
	st := r.settle(req.InstanceID)
	r.same("reason", st.Reason, provider.ReasonRolloutFailed)
	r.same("replicas after a failure", replicas(st), 2)
	// Asked for by a release that fails.
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "never:1", Resources: &provider.ResourceSpec{Replicas: 3}})
	r.same("replicas after a failure of more", replicas(r.settle(req.InstanceID)), 2)
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:2"})
	r.same("replicas after a deploy", replicas(r.ready(req.InstanceID)), 2)
	r.ok(r.d.Scale(t.Context(), req.InstanceID, provider.ResourceSpec{Replicas: 3}))
	r.ready(req.InstanceID)
	r.ok(r.d.Rollback(t.Context(), req.InstanceID, id.Nil))
	st = r.ready(req.InstanceID)
	r.same("release", st.ReleaseID, req.InitialRelease())
	r.same("replicas after a rollback", replicas(st), 3)
}

func TestPublishedPortsAreEndpointsToo(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Ports = append(req.Services[0].Ports,
		provider.PortSpec{Container: 81, Host: 18081, Protocol: provider.ProtocolTCP}, provider.PortSpec{Container: 82, Public: true})
	st := r.running(req)
	var urls []string
	for _, e := range st.Endpoints {
		if strings.Contains(e.URL, "127.0.0.1") {
			urls = append(urls, e.URL)
			r.same(e.URL+" is public", e.Public, e.Port != 18081)
		}
	}
	r.same("bound ports", len(urls), 2)
	r.same("given port", strings.Contains(strings.Join(urls, " "), "tcp://127.0.0.1:18081"), true)
}

func TestImagesAreFetchedWithTheCallersLogin(t *testing.T) {
	r := newRig(t)
	const image = "registry.example/shop/web:1"
	r.engine.AddRemote(image, dockertest.Remote{
		Image: docker.Image{}, Behaviour: images()["web:1"], Auth: &docker.RegistryAuth{Username: "ferry", Password: "secret", ServerAddress: "registry.example"},
	})
	req := request(web(image))
	_, err := r.d.Provision(t.Context(), req)
	r.ok(err)
	r.same("without a login", r.settle(req.InstanceID).Reason, provider.ReasonImageUnavailable)
	ctx := provider.ContextWithCredentials(t.Context(), &provider.Credentials{Values: map[string]string{"username": "ferry", "password": "secret"}})
	_, err = r.d.Provision(ctx, req)
	r.ok(err)
	r.ready(req.InstanceID)
	keys, err := r.state.List(t.Context(), "")
	r.ok(err)
	for _, key := range keys {
		rec, err := r.state.Get(t.Context(), key)
		r.ok(err)
		r.same("login in "+key, strings.Contains(string(rec.Value), `"secret"`) || strings.Contains(string(rec.Value), "ferry"), false)
	}
}

func TestFailedFirstReleaseRestsUntilTheRequestIsRepeated(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].Image = "never:1"
	req.Rollout.ReadyTimeout = time.Second
	_, err := r.d.Provision(t.Context(), req)
	r.ok(err)
	r.same("state", r.settle(req.InstanceID).State, provider.StateFailed)
	next, err := r.d.Step(t.Context(), req.InstanceID)
	r.ok(err)
	r.same("next step", next, time.Duration(0))
	_, err = r.d.Provision(t.Context(), req)
	r.ok(err)
	r.same("tried again", r.status(req.InstanceID).State == provider.StateFailed, false)
}
