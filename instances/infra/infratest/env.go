package infratest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/secrets"
)

// kind is that of the suite's machines.
const kind = "knc"

// callTime bounds one call, so that one that hangs can be repeated.
const callTime = 5 * time.Second

// tries bounds how often a call that ended with an error the contract permits is
// made again.
const tries = 50

// env is a case as it runs.
type env struct {
	T
	ctx  context.Context
	fx   Fixture
	p    infra.Provider
	made []string
	seen []string // all that the provider said, for what must not be in it
}

func newEnv(ctx context.Context, t T, fx Fixture) *env {
	return &env{T: t, ctx: ctx, fx: fx, p: fx.Provider}
}

// start runs the case and removes what it made, whatever came of it.
func (e *env) start(run func(e *env)) {
	e.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), e.fx.Patience)
		defer cancel()
		for _, instanceID := range e.made {
			for range tries {
				if err := e.p.DeleteInstance(ctx, instanceID, ""); err == nil || !permitted(ctx, err) {
					break
				}
				if e.fx.Advance(ctx) != nil {
					break
				}
			}
		}
	})
	run(e)
}

// request is a valid request for a new instance.
func (e *env) request() infra.CreateInstanceRequest {
	instanceID := id.New(kind).String()
	req := infra.CreateInstanceRequest{
		ClusterID: e.fx.Owner.ClusterID, Shard: e.fx.Owner.Shard,
		Group: "suite", Template: "suite", InstanceKind: kind, InstanceID: instanceID,
		UserData:   secrets.NewSecretString("#!/bin/true\n# " + canary + " " + instanceID + "\n"),
		CustomTags: map[string]string{"suite": "infratest"},
	}
	if e.fx.Prepare != nil {
		e.fx.Prepare(&req)
	}
	e.made = append(e.made, instanceID)
	return req
}

// permitted reports whether the contract lets a correct call end with err, so
// that the caller makes it again.
func permitted(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	return infra.Retryable(err) || errors.Is(err, context.DeadlineExceeded)
}

// again makes a call until it ends with something other than an error that is
// permitted, and returns that.
func (e *env) again(what string, call func(ctx context.Context) error) error {
	e.Helper()
	var err error
	for range tries {
		err = e.once(call)
		if err != nil {
			e.seen = append(e.seen, fmt.Sprintf("%v %+v %#v", err, err, err))
		}
		if err == nil || !permitted(e.ctx, err) {
			return err
		}
		e.advance()
	}
	e.Fatalf("%s: still %v after %d calls", what, err, tries)
	return err
}

func (e *env) once(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(e.ctx, e.callTime())
	defer cancel()
	return call(ctx)
}

func (e *env) callTime() time.Duration { return min(callTime, e.fx.Patience/3) }

func (e *env) advance() {
	e.Helper()
	if err := e.fx.Advance(e.ctx); err != nil {
		e.Fatalf("no time passes: %v", err)
	}
}

// eventually looks until done, with time passing between.
func (e *env) eventually(what string, done func() bool) {
	e.Helper()
	for e.ctx.Err() == nil {
		if done() {
			return
		}
		e.advance()
	}
	e.Fatalf("%s: not within %v", what, e.fx.Patience)
}

func (e *env) tryCreate(p infra.Provider, req infra.CreateInstanceRequest) (inst *infra.Instance, err error) {
	e.Helper()
	err = e.again("create", func(ctx context.Context) error {
		inst, err = p.CreateInstance(ctx, req)
		return err
	})
	e.note(inst)
	return inst, err
}

// create makes a machine, or ends the case.
func (e *env) create(req infra.CreateInstanceRequest) infra.Instance {
	e.Helper()
	inst, err := e.tryCreate(e.p, req)
	if err != nil || inst == nil {
		e.Fatalf("create: %v, %v", inst, err)
	}
	return *inst
}

func (e *env) tryStatus(p infra.Provider, instanceID, providerID string) (inst *infra.Instance, err error) {
	e.Helper()
	err = e.again("status", func(ctx context.Context) error {
		inst, err = p.GetInstanceStatus(ctx, instanceID, providerID)
		return err
	})
	e.note(inst)
	return inst, err
}

// remove asks for a machine's removal, or ends the case.
func (e *env) remove(instanceID, providerID string) {
	e.Helper()
	err := e.again("delete", func(ctx context.Context) error { return e.p.DeleteInstance(ctx, instanceID, providerID) })
	if err != nil {
		e.Fatalf("delete: %v", err)
	}
}

// gone reports whether the provider says that an instance has no machine.
func (e *env) gone(instanceID string) bool {
	e.Helper()
	inst, err := e.tryStatus(e.p, instanceID, "")
	if err != nil && !infra.IsNotFound(err) {
		e.Fatalf("status: %v", err)
	}
	return err != nil || inst.Status.Gone()
}

// removed deletes until it is gone: a delete may leave a part, and is repeated.
func (e *env) removed(instanceID string) {
	e.Helper()
	e.eventually("the machine is gone", func() bool {
		e.remove(instanceID, "")
		return e.gone(instanceID)
	})
}

// list is the whole list by pages of a size, with between called after each.
func (e *env) list(size int, between func(page int)) []infra.Instance {
	e.Helper()
	var all []infra.Instance
	req := infra.ListInstancesRequest{ClusterID: e.fx.Owner.ClusterID, Shard: e.fx.Owner.Shard, Limit: size}
	for page := 1; page < 1000; page++ {
		var got *infra.ListInstancesResponse
		err := e.again("list", func(ctx context.Context) (err error) {
			got, err = e.p.ListInstances(ctx, req)
			return err
		})
		if err != nil {
			e.Fatalf("list: %v", err)
		}
		if size > 0 && len(got.Instances) > size {
			e.Errorf("a page has %d machines; %d were asked for", len(got.Instances), size)
		}
		for i := range got.Instances {
			e.note(&got.Instances[i])
		}
		all = append(all, got.Instances...)
		if got.NextToken == "" {
			return all
		}
		req.NextToken = got.NextToken
		if between != nil {
			between(page)
		}
	}
	e.Fatalf("the list does not end")
	return nil
}

// has reports whether a list shows every one of these instances.
func has(list []infra.Instance, ids ...string) bool {
	listed := map[string]bool{}
	for _, inst := range list {
		listed[inst.InstanceID] = true
	}
	for _, instanceID := range ids {
		if !listed[instanceID] {
			return false
		}
	}
	return true
}

// note remembers what the provider said.
func (e *env) note(inst *infra.Instance) {
	if inst != nil {
		e.seen = append(e.seen, fmt.Sprintf("%+v", *inst))
	}
}

// oneMachine checks against the truth that an instance has exactly one.
func (e *env) oneMachine(instanceID string) {
	e.Helper()
	if e.fx.Count == nil {
		return
	}
	if n := e.fx.Count(instanceID); n != 1 {
		e.Errorf("instance %s has %d machines, not one", instanceID, n)
	}
}
