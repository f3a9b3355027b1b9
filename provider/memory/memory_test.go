package memory_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
)

// request is a workload of one service with a port of the host.
func request(services ...provider.ServiceSpec) provider.ProvisionRequest {
	if len(services) == 0 {
		services = []provider.ServiceSpec{{Name: "web", Image: "any:1", Ports: []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}}}}
	}
	return provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: memorytest.Tenant, Name: "shop", Services: services,
		Rollout: &provider.RolloutSpec{ReadyTimeout: 20 * time.Second},
	}
}

// inBubble runs a test on virtual time.
func inBubble(t *testing.T, mode memory.Mode, f func(t *testing.T, w *memorytest.World, p provider.Provider)) {
	synctest.Test(t, func(t *testing.T) {
		w := memorytest.New(t, mode)
		f(t, w, w.Provider())
	})
}

func ready(t *testing.T, p provider.Provider, instance id.ID) *provider.InstanceStatus {
	t.Helper()
	st, err := provider.Await(t.Context(), p, instance, provider.ReadinessPolicy{Timeout: time.Minute, Interval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestAnImageThatNobodyKnowsServesItsPorts(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, p provider.Provider) {
		req := request()
		req.Services[0].Ports[0].Host = 8443
		if _, err := p.Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		st := ready(t, p, req.InstanceID)
		if len(st.Endpoints) != 2 {
			t.Fatalf("there are the endpoints %+v, want one within and one of the host", st.Endpoints)
		}
		for _, ep := range st.Endpoints {
			if got := get(t, w, ep); got == "" {
				t.Errorf("%s answers nothing", ep.URL)
			}
		}
	})
}

// get asks an endpoint of a cluster.
func get(t *testing.T, w *memorytest.World, ep provider.Endpoint) string {
	t.Helper()
	u, err := url.Parse(ep.URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := w.Cluster.Dial(t.Context(), u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		t.Fatalf("answer %q, %v", answer, err)
	}
	return string(answer)
}

func TestTwoInstancesCannotHaveOnePortOfTheHost(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, _ *memorytest.World, p provider.Provider) {
		for i, want := range []provider.InstanceState{provider.StateRunning, provider.StateFailed} {
			req := request()
			req.Services[0].Ports[0].Host = 8443
			if _, err := p.Provision(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			st, err := p.Status(t.Context(), req.InstanceID)
			if err != nil || st.State != want {
				t.Errorf("instance %d is %s (%s), %v; want %s", i, st.State, st.Message, err, want)
			}
		}
	})
}

func TestALookThatLiesDoesNoHarm(t *testing.T) {
	for call := 1; call <= 12; call++ {
		inBubble(t, memory.Stepped, func(t *testing.T, w *memorytest.World, p provider.Provider) {
			req := request()
			disarm := w.Cluster.Script(memory.Fault{Call: call, Kind: memory.Lie})
			if _, err := p.Provision(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			ready(t, p, req.InstanceID)
			if _, err := p.(provider.Stepper).Step(t.Context(), req.InstanceID); err != nil {
				t.Fatal(err)
			}
			disarm()
			st := ready(t, p, req.InstanceID)
			if n := len(st.Services["web"].Replicas); n != 1 || len(w.Cluster.Inspect(req.InstanceID)) != 1 {
				t.Errorf("with a lie at look %d there are %d replicas and %d containers", call, n, len(w.Cluster.Inspect(req.InstanceID)))
			}
			if err := p.Deprovision(t.Context(), req.InstanceID); err != nil {
				t.Fatal(err)
			}
			if left := w.Cluster.Leftovers(req.InstanceID); len(left) > 0 {
				t.Errorf("there is still %q", left)
			}
		})
	}
}

func TestAProviderThatWasCutFailsEveryCall(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, p provider.Provider) {
		req := request()
		struck := w.Cluster.Script(memory.Fault{Call: 3, Kind: memory.CutAfter})
		if _, err := p.Provision(t.Context(), req); !errors.Is(err, provider.ErrUnavailable) {
			t.Errorf("Provision returned %v", err)
		}
		if !struck() {
			t.Error("the fault did not strike")
		}
		if _, err := p.Status(t.Context(), req.InstanceID); !errors.Is(err, provider.ErrUnavailable) {
			t.Errorf("Status returned %v", err)
		}
		again := w.Provider()
		if _, err := again.Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		ready(t, again, req.InstanceID)
	})
}

func TestCapabilitiesThatAreNotGivenAreNotSupported(t *testing.T) {
	p := memory.New(memory.Options{Capabilities: []provider.Capability{provider.CapProvision}})
	defer p.Close()
	ctx, instance := t.Context(), id.New(id.KindWorkload)
	_, deploy := p.Deploy(ctx, provider.DeployRequest{InstanceID: instance})
	_, logs := p.Logs(ctx, instance, provider.LogOptions{})
	_, exec := p.Exec(ctx, instance, provider.ExecRequest{Command: []string{"x"}})
	volumes := request()
	volumes.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	_, provision := p.Provision(ctx, volumes)
	for name, err := range map[string]error{
		"Deploy": deploy, "Logs": logs, "Exec": exec, "Provision with a volume": provision,
		"Rollback": p.Rollback(ctx, instance, id.Nil), "Scale": p.Scale(ctx, instance, provider.ResourceSpec{Replicas: 2}),
	} {
		if !errors.Is(err, provider.ErrNotSupported) {
			t.Errorf("%s returned %v", name, err)
		}
	}
}

func TestRestartAfterAFailedRolloutKeepsTheFailure(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, w *memorytest.World, p provider.Provider) {
		req := request()
		if _, err := p.Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		dep := provider.DeployRequest{
			InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease),
			Services: []provider.ServiceDeploySpec{{Name: "web", Image: "unknown:1"}},
		}
		if _, err := p.Deploy(t.Context(), dep); err != nil {
			t.Fatal(err)
		}
		if err := p.Restart(t.Context(), req.InstanceID); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second) // of the bubble
		st, err := p.Status(t.Context(), req.InstanceID)
		if err != nil || st.Reason != provider.ReasonRolloutFailed || !st.Available || st.Restarts != 1 {
			t.Errorf("the instance is %+v, %v", st, err)
		}
	})
}

func TestOldReleasesAreForgotten(t *testing.T) {
	inBubble(t, memory.Sync, func(t *testing.T, _ *memorytest.World, p provider.Provider) {
		req := request()
		if _, err := p.Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			dep := provider.DeployRequest{
				InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease),
				Services: []provider.ServiceDeploySpec{{Name: "web", Image: "any:1"}},
			}
			if _, err := p.Deploy(t.Context(), dep); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Rollback(t.Context(), req.InstanceID, req.InitialRelease()); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("Rollback to a release that is long gone returned %v", err)
		}
		if err := p.Rollback(t.Context(), req.InstanceID, id.Nil); err != nil {
			t.Errorf("Rollback to the one before returned %v", err)
		}
	})
}

func TestAClosedClusterStartsNothing(t *testing.T) {
	p := memory.New(memory.Options{})
	p.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := p.Provision(ctx, request()); err == nil {
		t.Error("Provision succeeded")
	}
}
