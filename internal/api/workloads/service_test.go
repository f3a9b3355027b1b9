package workloads_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Service that a test drives, or lets its engine drive.
type rig struct {
	*apitest.Workloads
	t   *testing.T
	ctx context.Context
}

func newRig(t *testing.T) *rig {
	t.Helper()
	w, err := apitest.NewWorkloads(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return &rig{w, t, ctx}
}

// run lets the engine drive until the function that it returns is called.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.ctx)
	var wg sync.WaitGroup
	wg.Go(func() { r.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// again is the daemon started anew on the same records.
func (r *rig) again() {
	r.Service.Close()
	if err := r.Reopen(nil); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) file(source string) *workfile.Workload {
	r.t.Helper()
	f, err := workfile.Parse([]byte(source), workfile.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

func (r *rig) apply(image string) (wire.WorkloadChange, error) {
	r.t.Helper()
	return r.Service.Apply(r.ctx, r.file("name: shop\nservices:\n  web: {image: '"+image+"', ports: [8080]}\n"), workloads.With{Initiator: "test"})
}

// await looks until the workload is as wanted.
func (r *rig) await(what string, is func(wire.WorkloadStatus) bool) wire.WorkloadStatus {
	r.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		w, err := r.Service.Status(r.ctx, "shop")
		if err == nil && is(w) {
			return w
		}
		select {
		case <-look.C:
		case <-r.ctx.Done():
			r.t.Fatalf("never %s: %+v, %v", what, w, err)
		}
	}
}

func TestWorkloadsGoOnAfterARestart(t *testing.T) {
	r := newRig(t)
	if _, err := r.apply("shop:1"); err != nil { // nothing drives it further
		t.Fatal(err)
	}
	r.again()
	stop := r.run()
	first := r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready && w.Release == "v1" })
	stop()
	if _, err := r.apply("shop:2"); err != nil {
		t.Fatal(err)
	}
	r.again()
	defer r.run()()
	now := r.await("ready again", func(w wire.WorkloadStatus) bool { return w.Ready && w.Release == "v2" })
	if now.ID != first.ID || now.Rollout.Initiator != "test" {
		t.Errorf("%+v", now)
	}
}

func TestADeletionGoesOnAfterARestart(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	if _, err := r.apply("shop:1"); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	stop()
	r.again()
	if _, err := r.Service.Delete(r.ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	if w, err := r.Service.Status(r.ctx, "shop"); err != nil || w.State != string(provider.StateDestroying) || w.Ready {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := r.apply("shop:2"); !errors.Is(err, provider.ErrConflict) {
		t.Errorf("a change meanwhile: %v", err)
	}
	r.again()
	defer r.run()()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := r.Service.Status(r.ctx, "shop"); errors.Is(err, provider.ErrNotFound) {
			break
		}
		select {
		case <-look.C:
		case <-r.ctx.Done():
			t.Fatal("it is still there")
		}
	}
	if keys, err := r.State.List(r.ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("records are left: %v, %v", keys, err)
	}
}

func TestNoRequestWaitsForAProviderThatHangs(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	if _, err := r.apply("shop:1"); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	stop()
	r.Patience = 50 * time.Millisecond
	r.again()
	hanging := func(ask func() error, want error) {
		t.Helper()
		disarm := r.Provider.Cluster().Script(memory.Fault{Call: 1, Kind: memory.Hang})
		began := time.Now()
		if err := ask(); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if !disarm() {
			t.Error("nothing hung")
		}
	}
	hanging(func() error {
		got, err := r.Service.Stop(r.ctx, "shop")
		if got.Done {
			t.Error("a stop that hangs is said to be done")
		}
		return err
	}, nil)
	hanging(func() error { _, err := r.apply("shop:2"); return err }, provider.ErrUnavailable)
}

func TestAWorkloadThatTheProviderRefusesLeavesNothing(t *testing.T) {
	r := newRig(t)
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, resources: {gpu: 1}}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); !errors.Is(err, provider.ErrNotSupported) {
		t.Errorf("got %v", err)
	}
	if keys, err := r.State.List(r.ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("records are left: %v, %v", keys, err)
	}
}

func TestAWorkloadWithoutItsProviderRests(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	if _, err := r.apply("shop:1"); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	stop()
	r.Registry.Register(apitest.ProviderName, nil)
	keys, err := r.Service.Keys(r.ctx)
	if err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0].String(), "workload/memory/wkl") {
		t.Fatalf("%v, %v", keys, err)
	}
	c, err := r.Service.Controller(r.ctx, keys[0].Name)
	if err != nil || c == nil {
		t.Fatalf("%v, %v", c, err)
	}
	if res, err := c.Reconcile(r.ctx); err != nil || res.RequeueAfter <= 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if c, err := r.Service.Controller(r.ctx, "memory/wkl06h2jeemyxv5nf7nzt5ehzpxv8"); err != nil || c != nil {
		t.Errorf("one that is none: %v, %v", c, err)
	}
}

func TestANewValueOfASecretIsAChange(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	set := func(value string) { put(t, r, "shop/TOKEN", value) }
	set("one")
	apply := func() wire.WorkloadChange {
		t.Helper()
		f := r.file("name: shop\nservices:\n  web: {image: shop:1, ports: [8080], secrets: [{key: shop/TOKEN, env: TOKEN}]}\n")
		change, err := r.Service.Apply(r.ctx, f, workloads.With{})
		if err != nil {
			t.Fatal(err)
		}
		r.await("at rest", func(w wire.WorkloadStatus) bool { return w.Ready })
		return change
	}
	apply()
	if again := apply(); again.Action != wire.WorkloadUnchanged {
		t.Errorf("the same value: %+v", again)
	}
	set("two")
	if change := apply(); change.Action != wire.WorkloadDeploy || len(change.Changes) != 1 || change.Changes[0].Field != "secrets[shop/TOKEN]" {
		t.Errorf("a new value: %+v", change)
	}
	if got := value(t, r); got != "two" {
		t.Errorf("inside is %q", got)
	}
	if _, err := r.Service.Rollback(r.ctx, "shop", "", workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("rolled back", func(w wire.WorkloadStatus) bool { return w.Ready && w.Release == "v1" })
	if got := value(t, r); got != "one" {
		t.Errorf("after the rollback inside is %q", got)
	}
}

func value(t *testing.T, r *rig) string {
	t.Helper()
	var out strings.Builder
	code, err := r.Service.Exec(r.ctx, "shop", provider.ExecRequest{Command: []string{"env", "TOKEN"}, Stdout: &out})
	if err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	return strings.TrimSpace(out.String())
}
