package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

var rigStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// rig is a driver on a simulated engine, both on one virtual clock.
type rig struct {
	testing.TB
	clock  *dockertest.Clock
	engine *dockertest.Engine
	state  *provider.MemoryStore
	vault  *secrets.Memory
	d      *Driver
}

const tenant = "ten-1"

func newRig(t testing.TB) *rig {
	clock := dockertest.NewClock(rigStart)
	r := &rig{TB: t, clock: clock, engine: dockertest.New(clock), state: provider.NewMemoryStore(), vault: secrets.NewMemory()}
	all := images()
	for _, name := range slices.Sorted(maps.Keys(all)) { // ids follow the order
		r.engine.AddImage(name, docker.Image{}, all[name])
	}
	r.restart(true)
	return r
}

// restart ends the driver's process and starts another one, on the same records
// or on none.
func (r *rig) restart(keepRecords bool) {
	r.Helper()
	if !keepRecords {
		r.state = provider.NewMemoryStore()
	}
	d, err := New(r.engine, Options{
		State: r.state, Vault: r.vault, Now: r.clock.Now, Prober: simProber{r.engine}, SpawnPull: func(f func()) { f() },
		AllowCapabilities: []string{"NET_RAW"}, Region: "lab",
	})
	r.ok(err)
	r.d = d
}

// images is what the simulated engine has.
func images() map[string]dockertest.Behaviour {
	web := dockertest.Behaviour{Port: 8080, StartDelay: 30 * time.Millisecond, Exec: program, Dirs: []string{"/etc/app", "/run/secrets"},
		Log: []dockertest.LogAt{{Text: "one"}, {After: time.Millisecond, Text: "two", Stream: docker.Stderr}}}
	side := dockertest.Behaviour{Port: 9090, Exec: program}
	return map[string]dockertest.Behaviour{
		"web:1": web, "web:2": web, "side:1": side, "worker:1": {},
		"never:1": {}, "init:1": {Exit: &dockertest.Exit{After: 50 * time.Millisecond}},
		"badinit:1": {Exit: &dockertest.Exit{After: 50 * time.Millisecond, Code: 3}, Log: []dockertest.LogAt{{Text: "cannot migrate"}}},
		"exits:1":   {Exit: &dockertest.Exit{After: 100 * time.Millisecond, Code: 3}, Log: []dockertest.LogAt{{Text: "password is hunter2hunter2"}}},
		"oom:1":     {Exit: &dockertest.Exit{After: 80 * time.Millisecond, Code: 137, OOM: true}},
	}
}

// program answers what tests execute.
func program(run dockertest.ExecRun) dockertest.ExecOutcome {
	switch run.Command[0] {
	case "env":
		var b strings.Builder
		for _, e := range run.Env {
			fmt.Fprintf(&b, "%s=%s\n", e.Name, e.Value)
		}
		return dockertest.ExecOutcome{Stdout: b.String()}
	case "cat":
		f, ok := run.File(run.Command[1])
		if !ok {
			return dockertest.ExecOutcome{Code: 1, Stderr: "no such file"}
		}
		return dockertest.ExecOutcome{Stdout: string(f.Data)}
	case "fail":
		return dockertest.ExecOutcome{Code: 7, Stdout: "out", Stderr: "err"}
	case "much":
		return dockertest.ExecOutcome{Stdout: strings.Repeat("x", provider.MaxExecOutput+1)}
	}
	return dockertest.ExecOutcome{NotFound: true}
}

// simProber asks the simulated containers.
type simProber struct{ engine *dockertest.Engine }

func (p simProber) Probe(ctx context.Context, addr netip.AddrPort, declared *spec.Probe) (bool, string) {
	if declared == nil || declared.Path == "" {
		if err := p.engine.TCP(ctx, addr); err != nil {
			return false, err.Error()
		}
		return true, ""
	}
	status, err := p.engine.HTTP(ctx, addr, declared.Path)
	switch {
	case err != nil:
		return false, err.Error()
	case status < 200 || status > 399:
		return false, fmt.Sprintf("answered %d", status)
	}
	return true, ""
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) is(err, want error, what string) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func (r *rig) same(what string, got, want any) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func web(image string) provider.ServiceSpec {
	return provider.ServiceSpec{
		Name: "web", Image: image, Ports: []provider.PortSpec{{Container: 8080, Protocol: provider.ProtocolHTTP}},
		HealthCheck: &provider.HealthCheckSpec{Path: "/", Interval: 100 * time.Millisecond},
	}
}

func side() provider.ServiceSpec {
	return provider.ServiceSpec{Name: "side", Role: provider.RoleSidecar, Image: "side:1", Ports: []provider.PortSpec{{Container: 9090}}}
}

func request(services ...provider.ServiceSpec) provider.ProvisionRequest {
	if len(services) == 0 {
		services = []provider.ServiceSpec{web("web:1")}
	}
	return provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: tenant, Name: "shop", Services: services,
		Rollout: &provider.RolloutSpec{ReadyTimeout: 10 * time.Second},
	}
}

// settle steps until the instance is ready or failed, and a little longer.
func (r *rig) settle(workload id.ID) *provider.InstanceStatus {
	r.Helper()
	var st *provider.InstanceStatus
	rest := 0
	for range 2000 {
		_, err := r.d.Step(r.Context(), workload)
		r.ok(err)
		r.clock.Advance(20 * time.Millisecond)
		st = r.status(workload)
		if st.Ready || st.State == provider.StateFailed || st.State == provider.StateStopped {
			if rest++; rest > 40 { // what traffic has left lingers
				return st
			}
		}
	}
	r.Fatalf("it never came to rest: %+v", st)
	return nil
}

func (r *rig) status(workload id.ID) *provider.InstanceStatus {
	r.Helper()
	st, err := r.d.Status(r.Context(), workload)
	r.ok(err)
	return st
}

// ready is settle for what has to become ready.
func (r *rig) ready(workload id.ID) *provider.InstanceStatus {
	r.Helper()
	st := r.settle(workload)
	if !st.Ready {
		r.Fatalf("not ready: %+v", st)
	}
	return st
}

func (r *rig) running(req provider.ProvisionRequest) *provider.InstanceStatus {
	r.Helper()
	_, err := r.d.Provision(r.Context(), req)
	r.ok(err)
	return r.ready(req.InstanceID)
}

func (r *rig) deploy(workload id.ID, services ...provider.ServiceDeploySpec) id.ID {
	r.Helper()
	release := id.New(id.KindRelease)
	_, err := r.d.Deploy(r.Context(), provider.DeployRequest{InstanceID: workload, ReleaseID: release, Services: services})
	r.ok(err)
	return release
}

// containers are the running containers of a workload, by name.
func (r *rig) containers(workload id.ID) []docker.ContainerState {
	var out []docker.ContainerState
	for _, c := range r.engine.Containers() {
		if c.Labels[docker.LabelWorkload] == workload.String() && c.Running() {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b docker.ContainerState) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (r *rig) exec(workload id.ID, service string, command ...string) string {
	r.Helper()
	res, err := r.d.Exec(r.Context(), workload, provider.ExecRequest{Command: command, ServiceName: service})
	r.ok(err)
	return string(res.Stdout)
}

// leftovers is everything that bears a workload's mark.
func (r *rig) leftovers(workload id.ID) []string {
	r.Helper()
	var out []string
	mark := workload.String()
	for _, c := range r.engine.Containers() {
		if strings.Contains(c.Name, mark) {
			out = append(out, "container "+c.Name)
		}
	}
	volumes, err := r.engine.ListVolumes(r.Context(), nil)
	r.ok(err)
	for _, v := range volumes {
		if strings.Contains(v.Name+v.Labels[docker.LabelWorkload], mark) {
			out = append(out, "volume "+v.Name)
		}
	}
	nets, err := r.engine.ListNetworks(r.Context(), nil)
	r.ok(err)
	for _, n := range nets {
		if strings.Contains(n.Name, mark) {
			out = append(out, "network "+n.Name)
		}
	}
	keys, err := r.state.List(r.Context(), "")
	r.ok(err)
	for _, key := range keys {
		if rec, err := r.state.Get(r.Context(), key); err == nil && strings.Contains(key+string(rec.Value), mark) {
			out = append(out, "record "+key)
		}
	}
	kept, err := r.vault.List(r.Context(), tenant)
	r.ok(err)
	for _, m := range kept {
		if strings.Contains(m.Key, mark) {
			out = append(out, "secret "+m.Key)
		}
	}
	return out
}
