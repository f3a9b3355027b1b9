package providertest

import (
	"context"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// verb is a method that is called for an instance.
type verb struct {
	name string
	need provider.Capability // without it the method is ErrNotSupported
	call func(ctx context.Context, e *env, instance id.ID) error
}

// verbs are all methods that answer ErrNotFound for what they do not know.
var verbs = []verb{
	{"Start", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error { return e.Provider.Start(ctx, i) }},
	{"Stop", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error { return e.Provider.Stop(ctx, i) }},
	{"Restart", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error { return e.Provider.Restart(ctx, i) }},
	{"Status", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error {
		_, err := e.Provider.Status(ctx, i)
		return err
	}},
	{"Deploy", provider.CapDeploy, func(ctx context.Context, e *env, i id.ID) error {
		_, err := e.Provider.Deploy(ctx, provider.DeployRequest{
			InstanceID: i, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
		})
		return err
	}},
	{"Rollback", provider.CapDeploy, func(ctx context.Context, e *env, i id.ID) error { return e.Provider.Rollback(ctx, i, id.Nil) }},
	{"Scale", provider.CapScale, func(ctx context.Context, e *env, i id.ID) error {
		return e.Provider.Scale(ctx, i, provider.ResourceSpec{Replicas: 1})
	}},
	{"Resources", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error {
		_, err := e.Provider.Resources(ctx, i)
		return err
	}},
	{"Logs", provider.CapLogs, func(ctx context.Context, e *env, i id.ID) error {
		stream, err := e.Provider.Logs(ctx, i, provider.LogOptions{})
		if stream != nil {
			_ = stream.Close()
		}
		return err
	}},
	{"Exec", provider.CapExec, func(ctx context.Context, e *env, i id.ID) error {
		_, err := e.Provider.Exec(ctx, i, provider.ExecRequest{Command: []string{e.Images.Program, "out:hello"}})
		return err
	}},
}

// allNotFound fails unless every method answers ErrNotFound.
func (e *env) allNotFound(instance id.ID, when string) {
	e.Helper()
	for _, v := range verbs {
		if !provider.HasCapability(e.Provider, v.need) {
			continue
		}
		e.want(v.call(e.ctx, e, instance), provider.ErrNotFound, v.name+" "+when)
	}
}
