package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/secrets"
)

// vault has one version of every value.
type vault struct{}

func (vault) SecretVersion(context.Context, string) (int64, error) { return 1, nil }

func (vault) SecretValue(context.Context, string, int64) (secrets.Secret, error) {
	return secrets.NewSecretString("x"), nil
}

// planned is an app whose one service a controller keeps running over the fleet.
type planned struct {
	*rig
	store  *sqlite.Store
	memory *application.Memory
	puller *application.Puller
	p      store.Placement
	last   reconcile.Result
	err    error
}

func newPlanned(t *testing.T) *planned {
	r := newRig(t, "n1", "n2")
	r.must(r.here.RemoveNetwork(r.ctx, appNet)) // the controller makes it
	st, err := sqlite.Open(r.ctx, sqlite.Options{Dir: t.TempDir()})
	r.must(err)
	t.Cleanup(func() { r.must(st.Close()) })
	for _, ref := range []string{"mine:1", "mine:2"} {
		r.here.AddImage(ref, docker.Image{SizeBytes: 1 << 20}, dockertest.Behaviour{})
	}
	p := &planned{rig: r, store: st, memory: application.NewMemory(nil), p: on("", "n1", "n2")}
	p.puller = application.NewPuller(r.clock.Now, nil)
	p.puller.Spawn = func(f func()) { f() }
	return p
}

func (p *planned) apply(image string) {
	p.t.Helper()
	s := spec.Service{
		Name: "web", Image: image, Replicas: 3, Strategy: spec.Rolling, StopGrace: time.Second,
	}
	s.Files = []spec.File{{Path: "/etc/app/token", Secret: spec.SecretRef{Key: "token"}}}
	_, err := p.store.ApplyChange(p.ctx, store.Change{
		AppID: app, Kind: store.AttemptApply, Now: p.clock.Now(), Actions: map[string]string{service: "update"},
		Put: []store.DesiredService{{Name: service, AppID: app, Image: image, Spec: s, Replicas: 3}},
	})
	p.must(err)
}

// settle runs passes until the service is at rest.
func (p *planned) settle() {
	p.t.Helper()
	for range 300 {
		c := application.New(service, p.store, p.For(p.p), application.WithInstanceID(instance), application.WithMemory(p.memory),
			application.WithClock(p.clock.Now), application.WithPuller(p.puller), application.WithSecrets(vault{}))
		p.last, p.err = c.Reconcile(p.ctx)
		if p.err == nil && p.last.RequeueAfter == 0 {
			return
		}
		p.clock.Advance(min(max(p.last.RequeueAfter, 200*time.Millisecond), 2*time.Second))
	}
	p.t.Fatalf("it does not come to rest: %+v, %v", p.last, p.err)
}

// runs are the running containers of all engines: "node replica image".
func (p *planned) runs() []string {
	var out []string
	for _, id := range []string{"", "n1", "n2"} {
		for _, c := range p.engine(id).Containers() {
			if c.Running() {
				out = append(out, fmt.Sprint(cmp.Or(id, "here"), " ", c.Labels[docker.LabelReplica], " ", strings.TrimPrefix(c.ImageID, "sha256:")[:6]))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (p *planned) wantRuns(what string, want ...string) {
	p.t.Helper()
	if got := p.runs(); !slices.Equal(got, want) {
		p.t.Fatalf("%s: %q run, want %q; %+v", what, got, want, p.last.Conditions)
	}
}

// What the package is for, from the first deploy to a node that comes back.
func TestAControllerKeepsAServiceRunningOverNodesThatComeAndGo(t *testing.T) {
	p := newPlanned(t)
	short := func(ref string) string { return strings.TrimPrefix(p.imageOn("", ref), "sha256:")[:6] }
	one, two := short("mine:1"), short("mine:2")
	p.apply("mine:1")
	p.settle()
	p.wantRuns("the first deploy", "here 0 "+one, "n1 1 "+one, "n2 2 "+one)
	p.apply("mine:2")
	p.settle()
	p.wantRuns("a change", "here 0 "+two, "n1 1 "+two, "n2 2 "+two)
	for _, id := range []string{"", "n1", "n2"} {
		if got := p.volumes(id); len(got) != 1 {
			t.Errorf("%q has volumes %v", id, got)
		}
	}
	p.open(nil) // the daemon begins anew
	p.memory = application.NewMemory(nil)
	p.settle()
	p.wantRuns("a restart of the daemon", "here 0 "+two, "n1 1 "+two, "n2 2 "+two)

	p.set("n1", false)
	p.p = without("n1", "", "n2", "n2")
	p.settle()
	p.wantRuns("n1 is given up", "here 0 "+two, "n1 1 "+two, "n2 1 "+two, "n2 2 "+two)
	p.set("n1", true)
	p.settle()
	got, err := p.Sweep(p.ctx, "n1", placedOn(p.p.Nodes...))
	if err != nil || len(got.Removed) != 1 || len(got.Waiting) > 0 || len(p.volumes("n1")) > 0 {
		t.Errorf("swept %+v, %v; left %v", got, err, p.volumes("n1"))
	}
	p.settle()
	p.wantRuns("n1 is back and swept", "here 0 "+two, "n2 1 "+two, "n2 2 "+two)
}
