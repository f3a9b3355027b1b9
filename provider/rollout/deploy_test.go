package rollout

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

func TestProvisionRecordsTheFirstRelease(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	rollouts, _, err := w.Rollouts(w.ctx(), w.workload, Page{})
	if err != nil || len(rollouts) != 1 {
		t.Fatalf("rollouts %v, %v; want one", rollouts, err)
	}
	ro := rollouts[0]
	if ro.Kind != KindInitial || ro.Strategy != StrategyInitial || ro.State != StateSucceeded || ro.Services["web"].State != StateSucceeded {
		t.Fatalf("rollout %+v", ro)
	}
}

func TestProvisionAgainReturnsTheFirstRollout(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	w.unchanged(func() {
		res, err := w.Provision(w.ctx(), "here", w.request(), With{})
		if err != nil || res.Release.Version != 1 || res.Status != provider.DeploySucceeded {
			t.Fatalf("%+v, %v", res, err)
		}
	})
	other := w.request()
	other.Services[0].Image = "web:9"
	w.unchanged(func() {
		_, err := w.Provision(w.ctx(), "here", other, With{})
		w.wantErr(err, provider.ErrConflict)
	})
}

func TestARefusedProvisionMayBeReplaced(t *testing.T) {
	w := newWorld(t, Options{})
	w.fake.answer = func(call string) error {
		if call == "provision" {
			return fmt.Errorf("%w: no such device", provider.ErrNotSupported)
		}
		return nil
	}
	res, err := w.Provision(w.ctx(), "here", w.request(), With{})
	w.wantErr(err, provider.ErrNotSupported)
	if res.Rollout.State != StateFailed || !res.Rollout.Untouched {
		t.Fatalf("rollout %+v", res.Rollout)
	}
	w.fake.answer = nil
	other := w.request()
	other.Services[0].Image = "web:2"
	if _, err := w.Provision(w.ctx(), "here", other, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if rel := w.served(2); rel.Services[0].Image != "web:2" {
		t.Fatalf("release %+v", rel)
	}
}

func TestAFailedFirstReleaseIsMendedByADeploy(t *testing.T) {
	w := newWorld(t, Options{})
	req := w.request()
	req.Services[0].Image = "web:broken"
	if _, err := w.Provision(w.ctx(), "here", req, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	_, err := w.Current(w.ctx(), w.workload)
	w.wantErr(err, provider.ErrNotFound)
	if ro := w.deployed(image("web", "web:2")); ro.State != StateSucceeded || !ro.Base.IsNil() {
		t.Fatalf("rollout %+v", ro)
	}
	w.served(2)
}

func TestRecordInitialIsIdempotentAndChangesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	_, err := w.RecordInitial(w.ctx(), "here", w.request(), With{})
	w.wantErr(err, provider.ErrNotFound)
	req := w.request()
	if _, err := w.fake.Provision(w.ctx(), req); err != nil {
		t.Fatal(err)
	}
	calls := len(w.fake.calls)
	for range 2 {
		_, err := w.RecordInitial(w.ctx(), "", req, With{})
		w.wantErr(err, provider.ErrProviderNotFound) // no default is set
		res, err := w.RecordInitial(w.ctx(), "here", req, With{})
		if err != nil || res.Rollout.State != StateSucceeded || res.Release.Version != 1 || res.Release.ServedAt == nil {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if len(w.fake.calls) != calls || w.store.writes != 1 {
		t.Fatalf("calls %v, %d writes", w.fake.calls, w.store.writes)
	}
}

func TestUnlistedServicesAreThoseOfTheLastReleaseThatSucceeded(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	if ro := w.deployed(image("cache", "cache:broken")); ro.State != StateRolledBack {
		t.Fatalf("state %s", ro.State)
	}
	w.served(1)
	w.deployed(image("web", "web:2"))
	rel := w.served(3)
	if rel.Services[0].Image != "web:2" || rel.Services[1].Image != "cache:1" || rel.Services[0].Env["A"] != "1" {
		t.Fatalf("release %+v", rel.Services)
	}
	in := w.fake.instances[w.workload]
	if got := in.releases[rel.ID][1].Image; got != "cache:1" {
		t.Fatalf("the provider runs %s", got)
	}
}

func TestNothingIsWrittenForARequestThatCannotBegin(t *testing.T) {
	all := newFake().caps
	cases := []struct {
		name string
		with func(*world, *provider.DeployRequest)
		want error
	}{
		{"a strategy in another spelling", func(_ *world, r *provider.DeployRequest) { r.Strategy = "blue_green" }, provider.ErrInvalid},
		{"a strategy that the provider has not", func(_ *world, r *provider.DeployRequest) { r.Strategy = provider.StrategyCanary }, provider.ErrNotSupported},
		{"no deploys at all", func(w *world, _ *provider.DeployRequest) { w.fake.caps = all[:1] }, provider.ErrNotSupported},
		{"a provider that is gone", func(w *world, _ *provider.DeployRequest) { w.registry.Register("here", nil) }, provider.ErrProviderNotFound},
		{"a service that is not there", func(_ *world, r *provider.DeployRequest) { r.Services[0].Name = "db" }, provider.ErrInvalid},
		{"a stopped instance", func(w *world, _ *provider.DeployRequest) { w.fake.instances[w.workload].stopped = true }, provider.ErrConflict},
		{"an instance that is gone", func(w *world, _ *provider.DeployRequest) { delete(w.fake.instances, w.workload) }, provider.ErrNotFound},
		{"a workload without releases", func(w *world, r *provider.DeployRequest) { r.InstanceID = w.ids.New(id.KindWorkload) }, provider.ErrNotFound},
		{"a service twice", func(_ *world, r *provider.DeployRequest) { r.Services = append(r.Services, r.Services[0]) }, provider.ErrInvalid},
		{"a file without a vault", func(_ *world, r *provider.DeployRequest) {
			r.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "a", Path: "/etc/shop/a", Content: "x"}}
		}, provider.ErrInvalid},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Options{}).provisioned()
			req := w.change(image("web", "web:2"))
			c.with(w, &req)
			w.unchanged(func() {
				_, err := w.Deploy(w.ctx(), req, With{})
				w.wantErr(err, c.want)
			})
		})
	}
}

func TestASecondRolloutIsBusyAndNamesTheFirst(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	first, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{})
	if err != nil || first.Status != provider.DeployAccepted {
		t.Fatalf("%+v, %v", first, err)
	}
	check := func(err error) {
		t.Helper()
		w.wantErr(err, provider.ErrBusy)
		var busy *BusyError
		if !errors.As(err, &busy) || busy.Rollout != first.Rollout.ID || busy.Workload != w.workload {
			t.Fatalf("%+v does not name %s", busy, first.Rollout.ID)
		}
	}
	w.unchanged(func() {
		_, err = w.Deploy(w.ctx(), w.change(image("web", "web:3")), With{})
		check(err)
		_, err = w.Rollback(w.ctx(), w.workload, id.Nil, With{})
		check(err)
		check(w.Scale(w.ctx(), w.workload, provider.ResourceSpec{Replicas: 3}))
	})
}

func TestTheSameRequestIsTheSameRollout(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	req := w.change(image("web", "web:2"))
	first, err := w.Deploy(w.ctx(), req, With{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Deploy(w.ctx(), req, With{})
	if err != nil || again.Rollout.ID != first.Rollout.ID {
		t.Fatalf("%+v, %v", again, err)
	}
	w.drive()
	w.deployed(image("web", "web:3"))
	w.fake.instances[w.workload].stopped = true
	w.unchanged(func() {
		again, err = w.Deploy(w.ctx(), req, With{})
		if err != nil || again.Rollout.ID != first.Rollout.ID || again.Status != provider.DeploySucceeded {
			t.Fatalf("%+v, %v", again, err)
		}
		req.Services[0].Image = "web:4"
		_, err = w.Deploy(w.ctx(), req, With{})
		w.wantErr(err, provider.ErrConflict)
	})
}

func TestTheSameContentIsTheSameRelease(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	w.deployed(image("web", "web:2"))
	back := w.deployed(image("web", "web:1"))
	if back.ReleaseVersion != 1 || back.State != StateSucceeded {
		t.Fatalf("rollout %+v", back)
	}
	w.served(1)
	if ro := w.deployed(image("web", "web:1")); ro.ReleaseVersion != 1 || ro.State != StateSucceeded {
		t.Fatalf("rollout %+v", ro)
	}
	releases, _, err := w.Releases(w.ctx(), w.workload, Page{})
	if err != nil || len(releases) != 2 {
		t.Fatalf("%d releases, %v; want 2", len(releases), err)
	}
}

func TestContentThatFailedMayBeTriedAgain(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	if ro := w.deployed(image("web", "web:broken")); ro.State != StateRolledBack {
		t.Fatalf("state %s", ro.State)
	}
	w.fake.mended = true
	ro := w.deployed(image("web", "web:broken"))
	if ro.State != StateSucceeded || ro.ReleaseVersion != 2 || ro.Ref == ro.Release {
		t.Fatalf("rollout %+v", ro)
	}
	w.served(2)
}

func TestTheStrategyReachesTheProvider(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	req := w.change(image("web", "web:2"))
	req.Strategy = provider.StrategyBlueGreen
	if _, err := w.Deploy(w.ctx(), req, With{}); err != nil {
		t.Fatal(err)
	}
	if got := w.fake.instances[w.workload].strategy; got != provider.StrategyBlueGreen {
		t.Fatalf("strategy %q", got)
	}
}

func TestConcurrentDeploysAllocateOneVersion(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	const writers = 8
	reqs := make([]provider.DeployRequest, writers)
	for i := range reqs {
		reqs[i] = w.change(image("web", fmt.Sprintf("web:slow-%d", i)))
	}
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		m := New(w.store, w.registry, Options{}) // a process of its own: no lock is shared
		wg.Go(func() { _, errs[i] = m.Deploy(w.ctx(), reqs[i], With{}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		w.wantErr(err, provider.ErrBusy)
	}
	releases, _, err := w.Releases(w.ctx(), w.workload, Page{})
	if err != nil || won != 1 || len(releases) != 2 || releases[0].Version != 2 {
		t.Fatalf("%d deploys began, releases %+v, %v", won, releases, err)
	}
}

func TestAScaleOutlivesDeploysAndRollbacks(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	if err := w.Scale(w.ctx(), w.workload, provider.ResourceSpec{Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	if ro := w.deployed(image("web", "web:broken")); ro.State != StateRolledBack {
		t.Fatalf("state %s", ro.State)
	}
	if got := w.fake.instances[w.workload].scaled.Replicas; got != 3 {
		t.Fatalf("%d replicas after the way back, want 3", got)
	}
	w.deployed(image("web", "web:2"))
	if rel := w.served(3); rel.Services[0].Resources.Replicas != 3 {
		t.Fatalf("resources %+v", rel.Services[0].Resources)
	}
	w.fake.answer = func(call string) error {
		if call == "scale" {
			return fmt.Errorf("%w: too many", provider.ErrInvalid)
		}
		return nil
	}
	w.wantErr(w.Scale(w.ctx(), w.workload, provider.ResourceSpec{Replicas: 900}), provider.ErrInvalid)
	w.wantErr(w.Scale(w.ctx(), w.workload, provider.ResourceSpec{}), provider.ErrInvalid)
	w.fake.answer = nil
	w.deployed(image("web", "web:3"))
	if rel := w.served(4); rel.Services[0].Resources.Replicas != 3 {
		t.Fatalf("resources %+v: a refused size was kept", rel.Services[0].Resources)
	}
	if err := w.Scale(w.ctx(), w.workload, provider.ResourceSpec{Replicas: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Rollback(w.ctx(), w.workload, id.Nil, With{}); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if got := w.fake.instances[w.workload].scaled.Replicas; got != 5 {
		t.Fatalf("%d replicas after the rollback, want 5", got)
	}
	w.deployed(image("web", "web:4"))
	if rel := w.served(5); rel.Services[0].Resources.Replicas != 5 {
		t.Fatalf("resources %+v", rel.Services[0].Resources)
	}
}
