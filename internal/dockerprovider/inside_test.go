package dockerprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

func TestMain(m *testing.M) {
	setModelSteps()
	goleak.VerifyTestMain(m)
}

func TestExecReturnsExitCodeAndBothStreams(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Services[0].Resources.Replicas = 2
	r.running(req)
	run := func(cmd provider.ExecRequest) *provider.ExecResult {
		t.Helper()
		res, err := r.d.Exec(t.Context(), req.InstanceID, cmd)
		r.ok(err)
		return res
	}
	res := run(provider.ExecRequest{Command: []string{"fail"}})
	if res.ExitCode != 7 || string(res.Stdout) != "out" || string(res.Stderr) != "err" || res.Truncated {
		t.Errorf("got %+v", res)
	}
	r.same("missing command", run(provider.ExecRequest{Command: []string{"nope"}}).ExitCode, provider.ExitNotFound)
	res = run(provider.ExecRequest{Command: []string{"much"}})
	if len(res.Stdout) != provider.MaxExecOutput || !res.Truncated {
		t.Errorf("%d bytes, truncated %t", len(res.Stdout), res.Truncated)
	}
	var out bytes.Buffer
	res = run(provider.ExecRequest{Command: []string{"fail"}, Stdout: &out, ServiceName: "side"})
	if out.String() != "out" || len(res.Stdout) != 0 || string(res.Stderr) != "err" {
		t.Errorf("writer %q, result %+v", out.String(), res)
	}
	one, seven := 1, 7
	run(provider.ExecRequest{Command: []string{"fail"}, Replica: &one})
	for what, cmd := range map[string]provider.ExecRequest{
		"service": {Command: []string{"fail"}, ServiceName: "nobody"}, "replica": {Command: []string{"fail"}, Replica: &seven},
	} {
		_, err := r.d.Exec(t.Context(), req.InstanceID, cmd)
		r.is(err, provider.ErrNotFound, "unknown "+what)
	}
	_, err := r.d.Exec(t.Context(), req.InstanceID, provider.ExecRequest{})
	r.is(err, provider.ErrInvalid, "no command")
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	_, err = r.d.Exec(t.Context(), req.InstanceID, provider.ExecRequest{Command: []string{"fail"}})
	r.is(err, provider.ErrConflict, "stopped")
}

func (r *rig) logs(workload id.ID, opts provider.LogOptions) []string {
	r.Helper()
	stream, err := r.d.Logs(r.Context(), workload, opts)
	r.ok(err)
	defer stream.Close()
	var out []string
	for l, err := range provider.DecodeLogs(stream) {
		r.ok(err)
		out = append(out, fmt.Sprintf("%s %d %s %s", l.Service, l.Replica, l.Stream, l.Line))
	}
	return out
}

func TestLogsAreLinesOfTheServiceAndReplicaAskedFor(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Services[0].Resources.Replicas = 2
	r.running(req)
	all := r.logs(req.InstanceID, provider.LogOptions{})
	r.same("lines", len(all), 4)
	one := 1
	got := r.logs(req.InstanceID, provider.LogOptions{Replica: &one})
	if !slices.Equal(got, []string{"web 1 stdout one", "web 1 stderr two"}) {
		t.Errorf("replica 1: %q", got)
	}
	got = r.logs(req.InstanceID, provider.LogOptions{Tail: 1, Replica: &one})
	if !slices.Equal(got, []string{"web 1 stderr two"}) {
		t.Errorf("the last one: %q", got)
	}
	r.same("of the sidecar", len(r.logs(req.InstanceID, provider.LogOptions{ServiceName: "side"})), 0)
	r.same("of the future", len(r.logs(req.InstanceID, provider.LogOptions{Since: r.clock.Now().Add(time.Hour)})), 0)
	_, err := r.d.Logs(t.Context(), req.InstanceID, provider.LogOptions{ServiceName: "nobody"})
	r.is(err, provider.ErrNotFound, "unknown service")
	_, err = r.d.Logs(t.Context(), req.InstanceID, provider.LogOptions{Tail: -1})
	r.is(err, provider.ErrInvalid, "negative tail")

	// What a removed container printed is kept.
	r.deploy(req.InstanceID, provider.ServiceDeploySpec{Name: "web", Image: "web:2"})
	r.ready(req.InstanceID)
	r.same("lines after a deploy", len(r.logs(req.InstanceID, provider.LogOptions{})), 8)
}

func TestFollowedLogsEndWithCloseContextAndInstance(t *testing.T) {
	for name, end := range map[string]func(r *rig, workload id.ID, stream io.Closer, cancel func()){
		"close":       func(_ *rig, _ id.ID, stream io.Closer, _ func()) { _ = stream.Close() },
		"context":     func(_ *rig, _ id.ID, _ io.Closer, cancel func()) { cancel() },
		"deprovision": func(r *rig, workload id.ID, _ io.Closer, _ func()) { r.ok(r.d.Deprovision(r.Context(), workload)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			req := request()
			r.running(req)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := r.d.Logs(ctx, req.InstanceID, provider.LogOptions{Follow: true})
			r.ok(err)
			lines := make(chan string)
			ended := make(chan error, 1)
			go func() {
				defer close(lines)
				for l, err := range provider.DecodeLogs(stream) {
					if err != nil {
						ended <- err
						return
					}
					lines <- l.Line
				}
				ended <- nil
			}()
			r.same("first", <-lines, "one")
			r.same("second", <-lines, "two")
			end(r, req.InstanceID, stream, cancel)
			for range lines { // until the stream is at its end
			}
			err = <-ended
			if clean := err == nil; name == "deprovision" && !clean || name == "context" && !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
			r.ok(stream.Close())
		})
	}
}

func TestHealthOfWhatServesIsWatched(t *testing.T) {
	r := newRig(t)
	req := request()
	req.Services[0].HealthCheck.Retries = 2
	r.running(req)
	container := r.containers(req.InstanceID)[0]
	r.d.opts.Prober = failing{}
	r.clock.Advance(150 * time.Millisecond)
	r.same("after one failure", r.status(req.InstanceID).Ready, true)
	r.clock.Advance(150 * time.Millisecond)
	st := r.status(req.InstanceID)
	r.same("ready", st.Ready, false)
	r.same("reason", st.Services["web"].Reason, provider.ReasonUnhealthy)
	r.d.opts.Prober = simProber{r.engine}
	r.clock.Advance(150 * time.Millisecond)
	next, err := r.d.Step(t.Context(), req.InstanceID)
	r.ok(err)
	if next <= 0 || next > 100*time.Millisecond {
		t.Errorf("the next step is due after %s", next)
	}
	r.same("ready again", r.status(req.InstanceID).Ready, true)
	r.same("container", r.containers(req.InstanceID)[0].ID, container.ID)
}

func TestResourcesAreTheSumOfWhatRuns(t *testing.T) {
	r := newRig(t)
	req := request(web("web:1"), side())
	req.Services[0].Resources.MemoryMB, req.Services[1].Resources.MemoryMB = 64, 32
	r.running(req)
	u, err := r.d.Resources(t.Context(), req.InstanceID)
	r.ok(err)
	r.same("limit", u.MemoryLimitMB, 96)
	if u.MemoryUsedMB <= 0 {
		t.Errorf("used %d", u.MemoryUsedMB)
	}
	r.ok(r.d.Stop(t.Context(), req.InstanceID))
	u, err = r.d.Resources(t.Context(), req.InstanceID)
	r.ok(err)
	r.same("used when stopped", *u, provider.ResourceUsage{})
}

func TestEngineThatDoesNotAnswerIsUnavailable(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	health, err := r.d.HealthCheck(t.Context())
	r.ok(err)
	if !health.Healthy || !strings.Contains(health.Message, "20.10.24") || r.d.Info().Version != "20.10.24" {
		t.Errorf("health %+v, info %+v", health, r.d.Info())
	}
	r.engine.SetDown(true)
	health, err = r.d.HealthCheck(t.Context())
	r.ok(err)
	r.same("healthy", health.Healthy, false)
	_, err = r.d.Status(t.Context(), req.InstanceID)
	r.is(err, provider.ErrUnavailable, "status")
	_, err = r.d.Provision(t.Context(), request())
	r.is(err, provider.ErrUnavailable, "provision")
	r.is(r.d.Deprovision(t.Context(), req.InstanceID), provider.ErrUnavailable, "deprovision")
	r.engine.SetDown(false)
	st := r.status(req.InstanceID)
	r.same("state", st.State, provider.StateDestroying)
	_, err = r.d.Step(t.Context(), req.InstanceID) // which goes on with it
	r.ok(err)
	if left := r.leftovers(req.InstanceID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWatchTellsOfInstancesThatSomethingHappenedTo(t *testing.T) {
	r := newRig(t)
	req := request()
	r.running(req)
	ctx, cancel := context.WithCancel(t.Context())
	ready, told, done := make(chan struct{}), make(chan id.ID, 100), make(chan error)
	go func() {
		done <- r.d.Watch(ctx, func() { close(ready) }, func(v id.ID) { told <- v })
	}()
	<-ready
	r.ok(r.engine.Stop(t.Context(), r.containers(req.InstanceID)[0].Name, 0))
	r.same("instance", <-told, req.InstanceID)
	r.d.hub.Tell(req.InstanceID)
	r.same("woken", <-told, req.InstanceID)
	cancel()
	r.is(<-done, context.Canceled, "end")
}

// failing is a prober to which nothing answers.
type failing struct{}

func (failing) Probe(context.Context, netip.AddrPort, *spec.Probe) (bool, string) {
	return false, "no answer"
}

func TestCredentialsGoToTheirRegistryAlone(t *testing.T) {
	ctx := provider.ContextWithCredentials(t.Context(), &provider.Credentials{Values: map[string]string{
		"username": "ferry", "password": "secret",
	}})
	auth := registryAuth(ctx, "registry.example/shop/web:1")
	if got := auth("registry.example/shop/side:1"); got == nil || got.Username != "ferry" || got.ServerAddress != "registry.example" {
		t.Errorf("its own registry: %+v", got)
	}
	for _, ref := range []string{"redis:7", "other.example/a:1", "::"} {
		if auth(ref) != nil {
			t.Errorf("%s gets the login", ref)
		}
	}
	if registryAuth(t.Context(), "registry.example/a:1")("registry.example/a:1") != nil {
		t.Error("a login from nowhere")
	}
	named := provider.ContextWithCredentials(t.Context(), &provider.Credentials{Values: map[string]string{
		"username": "ferry", "password": "secret", "server": "docker.io",
	}})
	if registryAuth(named, "registry.example/a:1")("redis:7") == nil || registryAuth(named, "registry.example/a:1")("registry.example/a:1") != nil {
		t.Error("a named server is not the one")
	}
}
