package providertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Model makes random operations with faults and crashes, and holds what Status
// says against a model after each. In the end everything is deprovisioned and
// nothing may be left. newFixture is called once for each check; the flags of
// rapid say how many there are, and of how many operations.
//
// One of the instances is a stateful set with a volume, where the provider has
// volumes. The fixture's programs need to know no more steps than "listen",
// "wait" and "exit", and when they are asked, or executed where the fixture is
// Silent, "env" and "read".
func Model(t testing.TB, newFixture func(t testing.TB) Fixture) {
	rapid.Check(unhurried{t}, func(r *rapid.T) {
		fx := newFixture(scoped{t, r})
		if !provider.HasCapability(fx.Provider, provider.CapProvision) || !provider.HasCapability(fx.Provider, provider.CapDeploy) {
			t.Skip("the provider does not list provision and deploy")
		}
		m := &model{env: newEnv(r.Context(), r, fx)}
		for _, stateful := range []bool{false, m.has(provider.CapVolumes)} {
			m.instances = append(m.instances, &instance{id: id.New(id.KindWorkload), m: m, stateful: stateful})
		}
		r.Repeat(map[string]func(*rapid.T){
			"provision":   m.act((*instance).absent, (*instance).provision),
			"deploy":      m.act((*instance).up, (*instance).deployGood),
			"deploy bad":  m.act((*instance).up, (*instance).deployBad),
			"rollback":    m.act((*instance).up, (*instance).rollback),
			"scale":       m.act((*instance).scalable, (*instance).scale),
			"stop":        m.act((*instance).there, (*instance).stop),
			"start":       m.act((*instance).there, (*instance).start),
			"restart":     m.act((*instance).there, (*instance).restart),
			"deprovision": m.act((*instance).there, (*instance).deprovision),
			"new process": m.newProcess,
			"":            m.check,
		})
	})
}

// unhurried hides the deadline of a test, which may not be asked for on virtual time.
type unhurried struct{ testing.TB }

// scoped is a test whose cleanups belong to one check.
type scoped struct {
	testing.TB
	check *rapid.T
}

// Cleanup implements testing.TB.
func (s scoped) Cleanup(f func()) { s.check.Cleanup(f) }

// model is what shall be there.
type model struct {
	*env
	instances []*instance
}

// instance is what shall be there of one.
type instance struct {
	id       id.ID
	m        *model
	stateful bool

	exists   bool
	stopped  bool
	replicas int
	releases []modelRelease // that served, in the order in which they began to
	failed   id.ID          // the release whose rollout failed last, nil when none did since
}

// modelRelease is a release by the value that the variable VALUE has in each
// service; of web it is the content of a file too.
type modelRelease struct {
	id        id.ID
	web, side string
}

func (i *instance) serving() modelRelease { return i.releases[len(i.releases)-1] }

// act is an operation on one of the instances of which it makes sense now.
func (m *model) act(sensible func(*instance) bool, op func(*instance, *rapid.T) (call func() error, after func())) func(*rapid.T) {
	return func(r *rapid.T) {
		var among []*instance
		for _, i := range m.instances {
			if sensible(i) {
				among = append(among, i)
			}
		}
		if len(among) == 0 {
			r.Skip("there is no such instance") // before a draw, so that another operation is tried
		}
		i := rapid.SampledFrom(among).Draw(r, "instance")
		call, after := op(i, r)
		m.know(i.id)
		m.disturbed(r, i, call)
		after()
	}
}

// disturbed makes a call, perhaps with a fault, and repeats it until it has done
// what it shall.
func (m *model) disturbed(r *rapid.T, i *instance, call func() error) {
	struck := func() bool { return false }
	kind := FaultKind(rapid.SampledFrom([]int{0, 0, int(FailBefore), int(FailAfter), int(CutBefore), int(CutAfter)}).Draw(r, "fault"))
	cut := kind == CutBefore || kind == CutAfter
	if m.Fault != nil && kind != 0 && (!cut || m.Restart != nil) {
		if armed := m.Fault(Fault{Call: rapid.IntRange(1, 25).Draw(r, "call"), Kind: kind}); armed != nil {
			struck = armed
		}
	}
	err := call()
	if err == nil {
		m.drive(i.id)
	} else {
		m.settle() // with what the call began, if anything
	}
	if hit := struck(); hit && cut {
		m.Provider = m.Fixture.Restart(true)
	} else if err != nil && !hit {
		r.Fatalf("the call failed without a fault: %v", err)
	} else if !hit {
		return
	}
	for range 3 {
		if err = call(); err == nil {
			return
		}
	}
	r.Fatalf("the call fails although it was repeated: %v", err)
}

// newProcess is a crash between two operations.
func (m *model) newProcess(r *rapid.T) {
	if m.Fixture.Restart == nil {
		r.Skip("the fixture cannot restart the provider")
	}
	m.Provider = m.Fixture.Restart(true)
}

// check compares every instance with the model.
func (m *model) check(r *rapid.T) {
	for _, i := range m.instances {
		if !i.exists {
			m.checkGone(r, i)
			continue
		}
		st := m.until(i.id, "as it shall be: "+i.describe(), i.matches)
		if got, want := st.ReleaseID, i.serving().id; got != want {
			r.Fatalf("release %s serves, not %s", got, want)
		}
		if !i.stopped {
			m.checkValues(r, i)
		}
	}
}

// checkValues looks into the containers.
func (m *model) checkValues(r *rapid.T, i *instance) {
	serving := i.serving()
	for _, q := range []struct {
		service, want string
		steps         []string
	}{
		{"web", serving.web + "\n" + serving.web, []string{"env:VALUE", "read:" + modelFile}},
		{"side", serving.side, []string{"env:VALUE"}},
	} {
		var got string
		switch {
		case !m.Silent:
			got = m.do(i.id, q.service, 0, q.steps...)
		case m.has(provider.CapExec):
			got = strings.TrimSuffix(m.execOK(i.id, provider.ExecRequest{ServiceName: q.service, Command: m.command(q.steps...)}), "\n")
		default:
			return
		}
		if got != q.want {
			r.Fatalf("%s of the release that serves says %q, not %q", q.service, got, q.want)
		}
	}
}

func (m *model) checkGone(r *rapid.T, i *instance) {
	if !m.gone(i.id) {
		r.Fatalf("instance %s is known and shall not be", i.id)
	}
	if m.Leftovers == nil {
		return
	}
	if left := m.Leftovers(i.id); len(left) > 0 {
		r.Fatalf("of an instance that was deprovisioned there is still %q", left)
	}
}

// matches reports whether a status is the one that the model expects.
func (i *instance) matches(st *provider.InstanceStatus) bool {
	target := i.serving().id
	if !i.failed.IsNil() {
		target = i.failed
	}
	if st.TargetReleaseID != target || st.ReleaseID != i.serving().id {
		return false
	}
	switch {
	case i.stopped:
		return !st.Ready && !st.Available && (st.State == provider.StateStopped || !i.failed.IsNil())
	case !i.failed.IsNil():
		return st.State == provider.StateFailed && st.Reason == provider.ReasonRolloutFailed && !st.Ready && st.Available && i.counts(st)
	}
	return st.State == provider.StateRunning && st.Ready && st.Available && st.Reason == "" && i.counts(st)
}

func (i *instance) counts(st *provider.InstanceStatus) bool {
	return len(refs(st, "web")) == i.replicas && len(refs(st, "side")) == i.replicas
}

func (i *instance) describe() string {
	text := fmt.Sprintf("%d replicas of release %s", i.replicas, i.serving().id)
	if i.stopped {
		text += ", stopped"
	}
	if !i.failed.IsNil() {
		text += ", release " + i.failed.String() + " having failed"
	}
	return text
}

// modelFile is a config file of web.
const modelFile = "/etc/app/value"

func (i *instance) request(rel modelRelease) provider.ProvisionRequest {
	e := i.m.env
	web, side := e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1)
	web.Env, web.ConfigFiles = valued(rel.web), filed(rel.web)
	side.Env = valued(rel.side)
	req := e.request(e.task("prepare", provider.RoleInit, "exit:0"), web, side)
	if i.stateful {
		req.Kind = provider.KindStatefulSet
		req.Services[1] = mounted(web, false)
	}
	req.InstanceID = i.id
	req.Rollout.ReadyTimeout = 20 * time.Second
	return req
}

func valued(value string) map[string]string { return map[string]string{"VALUE": value} }

func filed(value string) []provider.ConfigFile {
	return []provider.ConfigFile{{Name: "value", Path: modelFile, Content: value}}
}

// provision begins an instance, perhaps anew.
func (i *instance) provision(r *rapid.T) (func() error, func()) {
	rel := modelRelease{web: value(r), side: value(r)}
	req := i.request(rel)
	rel.id = req.InitialRelease()
	return func() error { _, err := i.m.Provider.Provision(i.m.ctx, req); return err }, func() {
		i.exists, i.stopped, i.replicas, i.failed = true, false, 1, id.Nil
		i.releases = []modelRelease{rel}
	}
}

func value(r *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "value") }

func (i *instance) absent() bool   { return !i.exists }
func (i *instance) there() bool    { return i.exists }
func (i *instance) up() bool       { return i.exists && !i.stopped }
func (i *instance) scalable() bool { return i.up() && i.m.has(provider.CapScale) }

// deployGood changes one of the services, or both.
func (i *instance) deployGood(r *rapid.T) (func() error, func()) {
	rel := i.serving()
	rel.id = id.New(id.KindRelease)
	dep := provider.DeployRequest{InstanceID: i.id, ReleaseID: rel.id}
	image := rapid.SampledFrom([]string{i.m.Images.V1, i.m.Images.V2}).Draw(r, "image")
	which := rapid.IntRange(1, 3).Draw(r, "services")
	if which&1 != 0 {
		rel.web = value(r)
		dep.Services = append(dep.Services, i.m.change("web", image, withEnv(valued(rel.web)), func(d *provider.ServiceDeploySpec) {
			d.ConfigFiles = filed(rel.web)
		}))
	}
	if which&2 != 0 {
		rel.side = value(r)
		dep.Services = append(dep.Services, i.m.change("side", image, withEnv(valued(rel.side))))
	}
	dep.Strategy = rapid.SampledFrom(i.strategies()).Draw(r, "strategy")
	return i.deploying(dep), func() { i.releases, i.failed = append(i.releases, rel), id.Nil }
}

func (i *instance) strategies() []string {
	out := []string{""}
	if i.stateful {
		return out // its volume has one writer
	}
	for strategy, c := range map[string]provider.Capability{
		provider.StrategyBlueGreen: provider.CapBlueGreen, provider.StrategyRolling: provider.CapRolling,
	} {
		if i.m.has(c) {
			out = append(out, strategy)
		}
	}
	slices.Sort(out)
	return out
}

func (i *instance) deploying(dep provider.DeployRequest) func() error {
	return func() error { _, err := i.m.Provider.Deploy(i.m.ctx, dep); return err }
}

func (i *instance) deployBad(r *rapid.T) (func() error, func()) {
	dep := provider.DeployRequest{InstanceID: i.id, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{
		i.m.change("web", i.m.Images.V2, withArgs("exit:7")),
	}}
	dep.Strategy = rapid.SampledFrom(i.strategies()).Draw(r, "strategy")
	return i.deploying(dep), func() { i.failed = dep.ReleaseID }
}

// kept is how many releases a provider remembers at least.
const kept = 5

func (i *instance) rollback(r *rapid.T) (func() error, func()) {
	to := rapid.SampledFrom(i.releases[max(0, len(i.releases)-kept):]).Draw(r, "release")
	return func() error { return i.m.Provider.Rollback(i.m.ctx, i.id, to.id) }, func() {
		i.failed = id.Nil
		if to != i.serving() {
			i.releases = append(i.releases, to)
		}
	}
}

func (i *instance) scale(r *rapid.T) (func() error, func()) {
	n := rapid.IntRange(1, 3).Draw(r, "replicas")
	return func() error { return i.m.Provider.Scale(i.m.ctx, i.id, provider.ResourceSpec{Replicas: n}) }, func() { i.replicas = n }
}

func (i *instance) stop(*rapid.T) (func() error, func()) {
	return func() error { return i.m.Provider.Stop(i.m.ctx, i.id) }, func() { i.stopped = true }
}

func (i *instance) start(*rapid.T) (func() error, func()) {
	return func() error { return i.m.Provider.Start(i.m.ctx, i.id) }, func() { i.stopped = false }
}

// restart may meet the one that its own repetition began.
func (i *instance) restart(*rapid.T) (func() error, func()) {
	return func() error {
		err := i.m.Provider.Restart(i.m.ctx, i.id)
		if errors.Is(err, provider.ErrBusy) {
			return nil
		}
		return err
	}, func() { i.stopped = false }
}

func (i *instance) deprovision(*rapid.T) (func() error, func()) {
	return func() error { return i.m.Provider.Deprovision(i.m.ctx, i.id) }, func() { i.exists = false }
}
