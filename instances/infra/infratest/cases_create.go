package infratest

import (
	"context"
	"errors"
	"sync"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/secrets"
)

var createCases = []Case{
	{Name: "Create/Answers", run: createAnswers},
	{Name: "Create/Repeated", run: createRepeated},
	{Name: "Create/RepeatedByAnother", needs: needsReopen, run: createRepeatedByAnother},
	{Name: "Create/OtherBytes", run: createOtherBytes},
	{Name: "Create/AtOnce", run: createAtOnce},
	{Name: "Create/WhileGoing", run: createWhileGoing},
	{Name: "Create/Invalid", run: createInvalid},
	{Name: "Create/UnknownArg", needs: needsArg, run: createUnknownArg},
	{Name: "Create/UnknownSubnet", needs: needsSubnet, run: createUnknownSubnet},
}

func createAnswers(e *env) {
	req := e.request()
	inst := e.create(req)
	if inst.InstanceID != req.InstanceID || inst.ProviderInstanceID == "" {
		e.Errorf("the answer has ids %q and %q for %s", inst.InstanceID, inst.ProviderInstanceID, req.InstanceID)
	}
	if inst.Status != infra.StatusPending && inst.Status != infra.StatusRunning {
		e.Errorf("a machine just made is %q", inst.Status)
	}
	if inst.LaunchedAt.IsZero() {
		e.Errorf("a machine just made was launched never")
	}
	e.oneMachine(req.InstanceID)
	e.eventually("it runs", func() bool {
		inst, err := e.tryStatus(e.p, req.InstanceID, "")
		if err != nil {
			e.Fatalf("status: %v", err)
		}
		return inst.Status == infra.StatusRunning
	})
}

func createRepeated(e *env) {
	req := e.request()
	first := e.create(req)
	for range 2 {
		again := e.create(req.Clone())
		if again.ProviderInstanceID != first.ProviderInstanceID {
			e.Errorf("the same bytes made %s and then %s", first.ProviderInstanceID, again.ProviderInstanceID)
		}
		if !again.LaunchedAt.Equal(first.LaunchedAt) {
			e.Errorf("a repeated create moved the launch from %v to %v", first.LaunchedAt, again.LaunchedAt)
		}
		e.advance()
	}
	e.oneMachine(req.InstanceID)
}

func createRepeatedByAnother(e *env) {
	req := e.request()
	first := e.create(req)
	again, err := e.tryCreate(e.fx.Reopen(), req)
	if err != nil {
		e.Fatalf("create by a process that started later: %v", err)
	}
	if again.ProviderInstanceID != first.ProviderInstanceID {
		e.Errorf("a process that started later made %s beside %s", again.ProviderInstanceID, first.ProviderInstanceID)
	}
	e.oneMachine(req.InstanceID)
}

func createOtherBytes(e *env) {
	req := e.request()
	first := e.create(req)
	for what, change := range map[string]func(*infra.CreateInstanceRequest){
		"user data": func(r *infra.CreateInstanceRequest) {
			r.UserData = secrets.NewSecretString("#!/bin/false\n# " + canary)
		},
		"tags":  func(r *infra.CreateInstanceRequest) { r.CustomTags = map[string]string{"suite": "other"} },
		"group": func(r *infra.CreateInstanceRequest) { r.Group = "other" },
	} {
		other := req.Clone()
		change(&other)
		if inst, err := e.tryCreate(e.p, other); !infra.IsConflict(err) {
			e.Errorf("a create with other %s: %v, %v, not ErrConflict", what, inst, err)
		}
	}
	if again := e.create(req); again.ProviderInstanceID != first.ProviderInstanceID {
		e.Errorf("a refused create replaced %s by %s", first.ProviderInstanceID, again.ProviderInstanceID)
	}
	e.oneMachine(req.InstanceID)
}

// createAtOnce makes one instance by many calls at the same time.
func createAtOnce(e *env) {
	req := e.request()
	const calls = 8
	ids, errs := make([]string, calls), make([]error, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			// Not through again: it may end the case, which only its own goroutine can.
			errs[i] = e.once(func(ctx context.Context) error {
				inst, err := e.p.CreateInstance(ctx, req)
				if err == nil {
					ids[i] = inst.ProviderInstanceID
				}
				return err
			})
		})
	}
	wg.Wait()
	inst := e.create(req)
	for i := range calls {
		switch {
		case errs[i] == nil && ids[i] != inst.ProviderInstanceID:
			e.Errorf("creates at the same time made %s and %s", ids[i], inst.ProviderInstanceID)
		case errs[i] != nil && !permitted(e.ctx, errs[i]):
			e.Errorf("one of the creates at the same time: %v", errs[i])
		}
	}
	e.oneMachine(req.InstanceID)
}

// createWhileGoing: a machine that goes is neither adopted nor joined by a second.
func createWhileGoing(e *env) {
	req := e.request()
	first := e.create(req)
	e.remove(req.InstanceID, first.ProviderInstanceID)
	inst, err := e.tryCreate(e.p, req)
	switch {
	case infra.IsConflict(err):
	case err != nil:
		e.Fatalf("create after delete: %v", err)
	case inst.ProviderInstanceID == first.ProviderInstanceID:
		e.Errorf("a create after the delete answered with the machine that goes")
	}
	if e.fx.Count != nil {
		if n := e.fx.Count(req.InstanceID); n > 1 {
			e.Errorf("a create after the delete left %d machines", n)
		}
	}
}

func createInvalid(e *env) {
	for what, spoil := range map[string]func(*infra.CreateInstanceRequest){
		"no id":             func(r *infra.CreateInstanceRequest) { r.InstanceID = "" },
		"an id that is bad": func(r *infra.CreateInstanceRequest) { r.InstanceID = "knc../../etc/passwd0000000000" },
		"another kind":      func(r *infra.CreateInstanceRequest) { r.InstanceKind = "abc" },
		"no group":          func(r *infra.CreateInstanceRequest) { r.Group = "" },
		"a tag of ours":     func(r *infra.CreateInstanceRequest) { r.CustomTags = map[string]string{infra.TagShard: "x"} },
		"too much data": func(r *infra.CreateInstanceRequest) {
			r.UserData = secrets.NewSecret(make([]byte, infra.MaxUserData+1))
		},
	} {
		req := e.request()
		spoil(&req)
		if inst, err := e.tryCreate(e.p, req); !errors.Is(err, infra.ErrInvalidRequest) {
			e.Errorf("a create with %s: %v, %v, not ErrInvalidRequest", what, inst, err)
		}
	}
}

func createUnknownArg(e *env) {
	req := e.request()
	req = req.Clone()
	if req.Args == nil {
		req.Args = map[string]any{}
	}
	req.Args[e.fx.UnknownArg] = "x"
	e.refused(req)
}

func createUnknownSubnet(e *env) {
	req := e.request()
	req.SubnetID = e.fx.UnknownSubnet
	e.refused(req)
	err := e.again("capacity", func(ctx context.Context) error {
		_, err := e.p.CheckSubnetCapacity(ctx, e.fx.UnknownSubnet)
		return err
	})
	if !errors.Is(err, infra.ErrInvalidRequest) {
		e.Errorf("room in a subnet that does not exist: %v, not ErrInvalidRequest", err)
	}
}

// refused checks that a create is invalid and leaves nothing.
func (e *env) refused(req infra.CreateInstanceRequest) {
	e.Helper()
	if inst, err := e.tryCreate(e.p, req); !errors.Is(err, infra.ErrInvalidRequest) {
		e.Errorf("create: %v, %v, not ErrInvalidRequest", inst, err)
	}
	if !e.gone(req.InstanceID) {
		e.Errorf("a create that was refused left a machine")
	}
}
