package dispatch

import (
	"context"
	"fmt"
	"io"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// unsupported answers the verbs that no engine has. To roll back, deploy the
// earlier source.
type unsupported struct {
	p      provider.Provider
	source provider.SourceType
}

func (u unsupported) refuse(verb string) error {
	return fmt.Errorf("%s of a workload of type %q on %s: %w", verb, u.source, provider.TypeName(u.p), provider.ErrNotSupported)
}

func (u unsupported) Rollback(context.Context, id.ID, id.ID) error { return u.refuse("rollback") }

func (u unsupported) Scale(context.Context, id.ID, provider.ResourceSpec) error {
	return u.refuse("scale")
}

func (u unsupported) Start(context.Context, id.ID) error   { return u.refuse("start") }
func (u unsupported) Stop(context.Context, id.ID) error    { return u.refuse("stop") }
func (u unsupported) Restart(context.Context, id.ID) error { return u.refuse("restart") }

func (u unsupported) Logs(context.Context, id.ID, provider.LogOptions) (io.ReadCloser, error) {
	return nil, u.refuse("logs")
}

func (u unsupported) Exec(context.Context, id.ID, provider.ExecRequest) (*provider.ExecResult, error) {
	return nil, u.refuse("exec")
}

func (u unsupported) Resources(context.Context, id.ID) (*provider.ResourceUsage, error) {
	return nil, u.refuse("resources")
}

// provision refuses what an engine would have to ignore.
func (u unsupported) provision(req ProvisionRequest, present bool) error {
	if err := check(req.Source.Type, u.source, present); err != nil {
		return err
	}
	return onlyForServices(u.source, map[string]bool{
		"kind": req.Kind != "", "release id": !req.ReleaseID.IsNil(), "network": req.Network != "", "rollout": req.Rollout != nil,
	})
}

func (u unsupported) deploy(req DeployRequest, present bool) error {
	if err := check(req.Source.Type, u.source, present); err != nil {
		return err
	}
	return onlyForServices(u.source, map[string]bool{
		"services": len(req.Services) > 0, "strategy": req.Strategy != "", "rollout": req.Rollout != nil,
	})
}

// deployed is the answer of an engine that applies the whole source again.
func deployed(res *provider.ProvisionResult, err error) (*provider.DeployResult, error) {
	if err != nil {
		return nil, err
	}
	return &provider.DeployResult{ProviderRef: res.ProviderRef, Status: provider.DeployAccepted, Endpoints: res.Endpoints}, nil
}
