package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/provider"
)

// history drives two workloads with calls that wait for nothing, through crashes
// of the driver's process before and after every effect, and checks what Status
// says against the engine itself.
type history struct {
	*world
	rt        *rapid.T
	p         provider.Provider
	workloads []*wished
	shaky     bool // calls of the engine fail, as they were scripted to
}

// wished is what was asked for of one workload.
type wished struct {
	req      provider.ProvisionRequest
	exists   bool
	stopped  bool
	replicas int
	releases []wish
	target   wish
	served   []id.ID // that a status gave as the one that serves, in that order
	// steady says that it was available, and that nothing happened since that may
	// take that away.
	steady bool
	// ready is what the last status said, and shaken that a container was ended
	// since the wanted release was asked for, before it was ready: it may fail of
	// that.
	ready, shaken bool
}

// wish is a release. One that is bad never becomes ready.
type wish struct {
	id    id.ID
	value string
	bad   bool
}

func newHistory(t testing.TB, rt *rapid.T) *history {
	h := &history{world: newWorld(failer{t, rt}), rt: rt}
	h.p = h.process()
	network := rapid.SampledFrom([]string{"", "shared"}).Draw(rt, "network")
	for _, stateful := range []bool{false, rapid.Bool().Draw(rt, "stateful")} {
		h.workloads = append(h.workloads, &wished{req: wishedRequest(stateful, network)})
	}
	h.addForeign()
	return h
}

func wishedRequest(stateful bool, network string) provider.ProvisionRequest {
	listening := func(name string, role provider.ServiceRole, port string) provider.ServiceSpec {
		return provider.ServiceSpec{Name: name, Role: role, Image: "program:1", Args: []string{"listen:" + port, "wait"}}
	}
	web, side := listening("web", provider.RoleMain, "8080"), listening("side", provider.RoleSidecar, "9090")
	web.Ports, side.Ports = []provider.PortSpec{{Container: 8080}}, []provider.PortSpec{{Container: 9090}}
	web.Env, web.ConfigFiles = map[string]string{"VALUE": "0"}, []provider.ConfigFile{{Name: "value", Path: "/etc/app/value", Content: "0"}}
	req := request(provider.ServiceSpec{Name: "prepare", Role: provider.RoleInit, Image: "program:1", Args: []string{"exit:0"}}, web, side)
	req.Network = network
	if stateful {
		req.Kind, req.Services[1].Volumes = provider.KindStatefulSet, []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	}
	return req
}

// addForeign puts a container there that looks like ours but is another owner's.
func (h *history) addForeign() {
	ctx := context.Background()
	network, err := h.engine.CreateNetwork(ctx, docker.NetworkSpec{Name: "elsewhere", Subnet: netip.MustParsePrefix("10.99.0.0/24")})
	h.ok(err)
	_, err = h.engine.Create(ctx, docker.ContainerSpec{
		Name: "other", Image: "program:1", Command: []string{"wait"},
		Labels:  map[string]string{docker.LabelWorkload: h.workloads[0].req.InstanceID.String(), docker.LabelInstance: "another"},
		Network: docker.NetworkAttachment{Network: network, Address: netip.MustParseAddr("10.99.0.9")},
	})
	h.ok(err)
	h.ok(h.engine.Start(ctx, "other"))
	h.engine.ResetHistory()
}

// failer fails one run of a model where it would fail the test.
type failer struct {
	testing.TB
	rt *rapid.T
}

func (f failer) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f failer) Errorf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f failer) Fatal(args ...any)                 { f.rt.Fatal(args...) }
func (f failer) Helper()                           {}

// call makes a call until the process lives through it and it does what it
// shall, or says why not in one of the errors that may be.
func (h *history) call(what string, do func() error, may ...error) error {
	var err error
	for range 6 {
		err = do()
		switch {
		case h.k.alive() != nil:
			h.p = h.process()
			continue
		case err == nil:
			return nil
		}
		for _, e := range may {
			if errors.Is(err, e) {
				return err
			}
		}
		if !errors.Is(err, errStruck) && (!h.shaky || !errors.Is(err, docker.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded)) {
			h.rt.Fatalf("%s failed of itself: %v", what, err)
		}
	}
	h.rt.Fatalf("%s fails although it is repeated: %v", what, err)
	return err
}

// among draws a workload that fits.
func (h *history) among(fits func(*wished) bool) *wished {
	var all []*wished
	for _, w := range h.workloads {
		if fits(w) {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		h.rt.Skip("there is no such workload")
	}
	return rapid.SampledFrom(all).Draw(h.rt, "workload")
}

func (w *wished) there() bool { return w.exists }

func (w *wished) String() string {
	return fmt.Sprintf("%d replicas of release %s (bad %t, value %s), stopped %t, shaken %t",
		w.replicas, w.target.id, w.target.bad, w.target.value, w.stopped, w.shaken)
}

// GoString is what rapid prints.
func (w *wished) GoString() string { return w.req.InstanceID.String() + " " + w.String() }

func (h *history) operations() map[string]func(*rapid.T) {
	ctx := context.Background()
	return map[string]func(*rapid.T){
		"provision":   func(*rapid.T) { h.provision(h.among(func(*wished) bool { return true })) },
		"deploy":      func(*rapid.T) { h.deploy(h.among((*wished).there)) },
		"rollback":    func(*rapid.T) { h.rollback(h.among(func(w *wished) bool { return w.exists && len(w.served) > 0 })) },
		"scale":       func(*rapid.T) { h.scale(h.among((*wished).there)) },
		"stop":        func(*rapid.T) { h.stop(h.among((*wished).there)) },
		"start":       func(*rapid.T) { h.start(h.among((*wished).there)) },
		"restart":     func(*rapid.T) { h.restarted(h.among((*wished).there)) },
		"deprovision": func(*rapid.T) { h.deprovision(h.among((*wished).there)) },
		"passes": func(rt *rapid.T) {
			for range rapid.IntRange(1, 15).Draw(rt, "passes") {
				h.steps(ctx)
				h.clock.Advance(20 * time.Millisecond)
			}
		},
		"time": func(rt *rapid.T) {
			h.clock.Advance(time.Duration(rapid.IntRange(1, 8000).Draw(rt, "ms")) * time.Millisecond)
		},
		"fault": func(rt *rapid.T) {
			h.k.aim(rapid.IntRange(1, 20).Draw(rt, "effect"), rapid.Bool().Draw(rt, "after"), rapid.Bool().Draw(rt, "lives"))
		},
		"engine fault": func(rt *rapid.T) {
			h.shaky = true
			h.engine.Script(dockertest.Fault{
				Kind:   rapid.SampledFrom([]dockertest.FaultKind{dockertest.FailBefore, dockertest.FailAfter, dockertest.Hang}).Draw(rt, "kind"),
				Nth:    rapid.IntRange(1, 12).Draw(rt, "nth"),
				Effect: rapid.Bool().Draw(rt, "with effect"),
			})
		},
		"new process":    func(*rapid.T) { h.p = h.process() },
		"kill":           func(*rapid.T) { h.kill() },
		"engine restart": func(rt *rapid.T) { h.restartEngine(rapid.Bool().Draw(rt, "live restore")) },
		"":               func(*rapid.T) { h.check(ctx) },
	}
}

// steps makes a step of every workload.
func (h *history) steps(ctx context.Context) {
	for _, w := range h.workloads {
		if w.exists {
			_ = h.call("Step", func() error { _, err := h.p.(provider.Stepper).Step(ctx, w.req.InstanceID); return err })
		}
	}
}

func (h *history) kill() {
	var names []string
	for _, c := range h.engine.Containers() {
		if c.Running() && c.Labels[docker.LabelInstance] == DefaultOwner {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		h.rt.Skip("nothing runs")
	}
	slices.Sort(names)
	h.engine.Kill(rapid.SampledFrom(names).Draw(h.rt, "container"), 1, false)
	h.unsettle()
}

func (h *history) restartEngine(liveRestore bool) {
	h.engine.RestartEngine(liveRestore)
	if !liveRestore {
		h.unsettle()
	}
}

// unsettle is after what may take any service away.
func (h *history) unsettle() {
	for _, w := range h.workloads {
		w.steady, w.shaken = false, w.shaken || !w.ready
	}
}

func TestAnyHistoryOfCallsAndCrashesEndsAsItWasAskedTo(t *testing.T) {
	tries(t, historyChecks)
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t, rt)
		rt.Repeat(h.operations())
		h.end(t.Context())
	})
}

// end ends all faults, and checks that everything comes to rest as it was asked
// for and goes without a trace.
func (h *history) end(ctx context.Context) {
	if h.k.struck(); h.k.alive() != nil {
		h.p = h.process()
	}
	h.engine.ClearScript()
	for _, w := range h.workloads {
		if !w.exists {
			continue
		}
		var st *provider.InstanceStatus
		came := h.wait(func() bool {
			h.steps(ctx)
			st = h.look(ctx, w)
			return w.asAsked(st)
		})
		if !came {
			h.rt.Fatalf("asked for were %s; it is %+v", w, st)
		}
	}
	for _, w := range h.workloads {
		if w.exists {
			h.deprovision(w)
		}
	}
	h.nothingLeft(ctx)
}

func (h *history) nothingLeft(ctx context.Context) {
	for _, c := range h.engine.Containers() {
		if c.Name != "other" {
			h.rt.Fatalf("left: container %s", c.Name)
		}
	}
	nets, err := h.engine.ListNetworks(ctx, map[string]string{docker.LabelInstance: DefaultOwner})
	h.ok(err)
	keys, err := h.state.List(ctx, "")
	h.ok(err)
	if len(nets)+len(keys) > 0 {
		h.rt.Fatalf("left: networks %v, records %v", nets, keys)
	}
	if touched := h.engine.TouchedWithout(docker.LabelInstance, DefaultOwner); len(touched) > 0 {
		h.rt.Fatalf("touched what is not ours: %+v", touched)
	}
	if o := h.engine.WritersOverlap(); len(o) > 0 {
		h.rt.Fatalf("two writers of one volume: %+v", o)
	}
}

// asAsked reports whether a status is the one that the calls asked for.
func (w *wished) asAsked(st *provider.InstanceStatus) bool {
	counts := len(st.Services["web"].Replicas) == w.replicas && len(st.Services["side"].Replicas) == w.replicas
	switch {
	case st.TargetReleaseID != w.target.id:
		return false
	case w.stopped:
		return st.State == provider.StateStopped && !st.Ready && !st.Available
	case st.State != provider.StateFailed && w.target.bad:
		return false
	case st.State != provider.StateFailed || !w.target.bad && !w.shaken:
		return st.State == provider.StateRunning && st.Ready && st.Available && st.Reason == "" && st.ReleaseID == w.target.id && counts
	case st.Reason == "" || st.Ready:
		return false
	case st.ReleaseID.IsNil():
		return !st.Available
	}
	return st.Reason == provider.ReasonRolloutFailed && st.Available && counts && !w.release(st.ReleaseID).bad
}

func (w *wished) release(release id.ID) wish {
	i := slices.IndexFunc(w.releases, func(r wish) bool { return r.id == release })
	if i < 0 {
		return wish{bad: true}
	}
	return w.releases[i]
}

// look is a Status that must succeed.
func (h *history) look(ctx context.Context, w *wished) *provider.InstanceStatus {
	var st *provider.InstanceStatus
	_ = h.call("Status", func() (err error) { st, err = h.p.Status(ctx, w.req.InstanceID); return err })
	if !st.ReleaseID.IsNil() && !slices.Contains(w.served, st.ReleaseID) {
		w.served = append(w.served, st.ReleaseID)
	}
	return st
}

// check compares what Status says with what the engine has.
func (h *history) check(ctx context.Context) {
	if h.k.alive() != nil {
		h.p = h.process()
	}
	for _, w := range h.workloads {
		if !w.exists {
			err := h.call("Status", func() error { _, err := h.p.Status(ctx, w.req.InstanceID); return err }, provider.ErrNotFound)
			if err == nil {
				h.rt.Fatalf("there is a status of what is not there")
			}
			continue
		}
		h.checkTruth(ctx, w, h.look(ctx, w))
	}
}

func (h *history) checkTruth(ctx context.Context, w *wished, st *provider.InstanceStatus) {
	answering, right := 0, 0
	for _, c := range h.engine.Containers() {
		if c.Labels[docker.LabelWorkload] != w.req.InstanceID.String() || !isMain(&c) || !c.Running() {
			continue
		}
		// A new process takes what runs for proven.
		guessed := !c.Started.After(h.since) && h.clock.Now().Sub(c.Started) <= startDelay
		if h.engine.TCP(ctx, netip.AddrPortFrom(c.Address, 8080)) != nil && !guessed {
			continue
		}
		answering++
		spec, _ := h.engine.Spec(c.ID)
		if valueOf(spec) == w.release(st.ReleaseID).value {
			right++
		}
	}
	switch {
	case st.Available && answering == 0:
		h.rt.Fatalf("it is said to be available, and no container answers: %+v", st)
	case st.Ready && right < len(st.Services["web"].Replicas):
		h.rt.Fatalf("it is said to be ready, and %d of %d containers are: %+v", right, len(st.Services["web"].Replicas), st)
	case st.Ready && (st.ReleaseID != w.target.id || w.target.bad || w.stopped):
		h.rt.Fatalf("it is said to be ready, and was to be %s: %+v", w, st)
	case w.steady && !st.Available:
		h.rt.Fatalf("it was available, and nothing took that away: %+v", st)
	}
	w.ready = st.Ready
	w.steady = st.Available && w.req.Kind != provider.KindStatefulSet
}

// valueOf is the value that a container was made with.
func valueOf(spec docker.ContainerSpec) string {
	for _, v := range spec.Env {
		if v.Name == "VALUE" {
			return v.Value
		}
	}
	return ""
}
