package providertest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// concurrentCases are about many calls at once.
var concurrentCases = []Case{
	{Name: "Concurrent/ManyInstances", Needs: needProvision, run: manyInstances},
	{Name: "Concurrent/OneInstance", Needs: needProvision, run: oneInstance},
	{Name: "Concurrent/SameProvision", Needs: needProvision, run: sameProvision},
}

// atOnce is how many calls the cases make at the same time.
const atOnce = 20

// together runs f so many times at once and returns the errors.
func together(f func(i int) error) []error {
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

func manyInstances(e *env) {
	reqs := make([]provider.ProvisionRequest, atOnce)
	for i := range reqs {
		reqs[i] = e.request()
		if i%2 == 0 {
			reqs[i].Network, reqs[i].Name = "many", "number-"+digits(i)
		}
		reqs[i].Services[0].Env = map[string]string{"NUMBER": digits(i)}
		e.know(reqs[i].InstanceID)
	}
	for i, err := range together(func(i int) error { _, err := e.Provider.Provision(e.ctx, reqs[i]); return err }) {
		e.must(err, "Provision "+digits(i)+" of many at once")
	}
	for i, req := range reqs {
		e.ready(req.InstanceID)
		if got := e.do(req.InstanceID, "web", 0, "env:NUMBER"); got != digits(i) {
			e.Errorf("instance %d says that it is %s", i, got)
		}
	}
	for i, err := range together(func(i int) error { return e.Provider.Deprovision(e.ctx, reqs[i].InstanceID) }) {
		e.must(err, "Deprovision "+digits(i)+" of many at once")
	}
}

// oneInstance makes calls of every kind; each succeeds, or finds another one at
// work.
func oneInstance(e *env) {
	req := e.request()
	e.running(req)
	errs := together(func(i int) error {
		ctx, instance := e.ctx, req.InstanceID
		switch i % 8 {
		case 0:
			_, err := e.Provider.Status(ctx, instance)
			return err
		case 1:
			_, err := e.Provider.Provision(ctx, req)
			return err
		case 2:
			if e.has(provider.CapScale) {
				return e.Provider.Scale(ctx, instance, provider.ResourceSpec{Replicas: 1 + i%2})
			}
		case 3:
			return e.Provider.Restart(ctx, instance)
		case 4:
			if e.has(provider.CapDeploy) {
				_, err := e.Provider.Deploy(ctx, provider.DeployRequest{
					InstanceID: instance, ReleaseID: id.New(id.KindRelease),
					Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
				})
				return err
			}
		case 5:
			return e.Provider.Stop(ctx, instance)
		case 6:
			return e.Provider.Start(ctx, instance)
		case 7:
			_, err := e.Provider.Resources(ctx, instance)
			return err
		}
		return nil
	})
	for i, err := range errs {
		if err != nil && !errors.Is(err, provider.ErrBusy) && !errors.Is(err, provider.ErrConflict) {
			e.Errorf("call %d of many at once: %v", i, err)
		}
	}
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	replicas := 1
	st := e.ready(req.InstanceID)
	if e.has(provider.CapScale) {
		replicas = 2
		st = e.scale(req.InstanceID, provider.ResourceSpec{Replicas: replicas})
	}
	if n := len(refs(st, "web")); n != replicas {
		e.Errorf("after many calls at once there are %d replicas, want %d", n, replicas)
	}
	e.runs(req.InstanceID, replicas)
	e.do(req.InstanceID, "web", 0, "hostname")
}

func sameProvision(e *env) {
	req := e.full()
	e.know(req.InstanceID)
	refs := sync.Map{}
	for i, err := range together(func(i int) error {
		res, err := e.Provider.Provision(e.ctx, req)
		if err == nil {
			refs.Store(res.ProviderRef, i)
		}
		return err
	}) {
		e.must(err, fmt.Sprintf("Provision %d of the same request at once", i))
	}
	count := 0
	refs.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		e.Errorf("the same request at once made %d instances", count)
	}
	e.whole(e.ready(req.InstanceID))
}
