package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/dispatch"
)

// plain records the calls of a provider's own methods.
type plain struct {
	caps  []provider.Capability
	calls *[]string
}

func (p plain) note(format string, args ...any) {
	*p.calls = append(*p.calls, fmt.Sprintf(format, args...))
}

func (p plain) Info() provider.ProviderInfo          { return provider.ProviderInfo{Name: "fake"} }
func (p plain) Capabilities() []provider.Capability  { return p.caps }
func (p plain) Start(context.Context, id.ID) error   { p.note("Start"); return nil }
func (p plain) Stop(context.Context, id.ID) error    { p.note("Stop"); return nil }
func (p plain) Restart(context.Context, id.ID) error { p.note("Restart"); return nil }
func (p plain) Deprovision(context.Context, id.ID) error {
	p.note("Deprovision")
	return nil
}
func (p plain) Rollback(_ context.Context, _, release id.ID) error {
	p.note("Rollback %s", release.Kind())
	return nil
}
func (p plain) Scale(_ context.Context, _ id.ID, r provider.ResourceSpec) error {
	p.note("Scale %d", r.Replicas)
	return nil
}
func (p plain) Provision(_ context.Context, r provider.ProvisionRequest) (*provider.ProvisionResult, error) {
	p.note("Provision %s %s %s %s %s %s %d %v", r.TenantID, r.Name, r.Kind, r.Network, r.ReleaseID.Kind(), r.Services[0].Name, r.Rollout.ReadyTimeout, r.Labels)
	return &provider.ProvisionResult{ProviderRef: "plain"}, nil
}
func (p plain) Deploy(_ context.Context, r provider.DeployRequest) (*provider.DeployResult, error) {
	p.note("Deploy %s %s %s %v", r.ReleaseID.Kind(), r.Services[0].Name, r.Strategy, r.Rollout != nil)
	return &provider.DeployResult{ProviderRef: "plain"}, nil
}
func (p plain) Status(context.Context, id.ID) (*provider.InstanceStatus, error) {
	p.note("Status")
	return &provider.InstanceStatus{}, nil
}
func (p plain) Resources(context.Context, id.ID) (*provider.ResourceUsage, error) {
	p.note("Resources")
	return &provider.ResourceUsage{}, nil
}
func (p plain) Logs(_ context.Context, _ id.ID, o provider.LogOptions) (io.ReadCloser, error) {
	p.note("Logs %s", o.ServiceName)
	return io.NopCloser(nil), nil
}
func (p plain) Exec(_ context.Context, _ id.ID, c provider.ExecRequest) (*provider.ExecResult, error) {
	p.note("Exec %v", c.Command)
	return &provider.ExecResult{}, nil
}

// engines is a provider with every engine.
type engines struct{ plain }

var applied = &provider.ProvisionResult{ProviderRef: "ref", Endpoints: []provider.Endpoint{{Port: 80}}}

func (e engines) HelmInstall(_ context.Context, r provider.HelmInstallRequest) (*provider.ProvisionResult, error) {
	e.note("HelmInstall %s %s %s", r.TenantID, r.Namespace, r.Chart.Chart)
	return applied, nil
}
func (e engines) HelmUpgrade(_ context.Context, r provider.HelmUpgradeRequest) (*provider.DeployResult, error) {
	e.note("HelmUpgrade %s %s", r.Namespace, r.Chart.Chart)
	return &provider.DeployResult{}, nil
}
func (e engines) HelmUninstall(context.Context, id.ID) error { e.note("HelmUninstall"); return nil }
func (e engines) HelmStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	e.note("HelmStatus")
	return &provider.InstanceStatus{}, nil
}
func (e engines) ApplyManifests(_ context.Context, r provider.ManifestApplyRequest) (*provider.ProvisionResult, error) {
	e.note("ApplyManifests %s %v %v", r.TenantID, r.Manifests.Docs, r.Labels)
	return applied, nil
}
func (e engines) DeleteManifests(context.Context, id.ID) error { e.note("DeleteManifests"); return nil }
func (e engines) ManifestStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	e.note("ManifestStatus")
	return &provider.InstanceStatus{}, nil
}
func (e engines) ArgoApply(_ context.Context, r provider.ArgoApplyRequest) (*provider.ProvisionResult, error) {
	e.note("ArgoApply %s %s %v", r.TenantID, r.App.RepoURL, r.Labels)
	return applied, nil
}
func (e engines) ArgoDelete(context.Context, id.ID) error { e.note("ArgoDelete"); return nil }
func (e engines) ArgoStatus(context.Context, id.ID) (*provider.InstanceStatus, error) {
	e.note("ArgoStatus")
	return &provider.InstanceStatus{}, nil
}

var allCaps = []provider.Capability{
	provider.CapProvision, provider.CapDeploy, provider.CapScale, provider.CapLogs, provider.CapExec,
	provider.CapHelm, provider.CapManifests, provider.CapArgoCD,
}

var sources = map[provider.SourceType]provider.RenderedSource{
	provider.SourceServices:  {Type: provider.SourceServices, Services: []provider.ServiceSpec{{Name: "web"}}},
	provider.SourceHelm:      {Type: provider.SourceHelm, Helm: &provider.RenderedHelm{Chart: "nginx", Namespace: "ns"}},
	provider.SourceManifests: {Type: provider.SourceManifests, Manifests: &provider.RenderedManifests{Docs: []string{"doc"}}},
	provider.SourceArgoCD:    {Type: provider.SourceArgoCD, ArgoCD: &provider.ArgoCDSource{RepoURL: "repo"}},
}

func provision(source provider.SourceType) dispatch.ProvisionRequest {
	r := dispatch.ProvisionRequest{InstanceID: id.New(id.KindWorkload), TenantID: "acme", Name: "shop", Labels: map[string]string{"a": "b"}, Source: sources[source]}
	if source == provider.SourceServices {
		r.Kind, r.Network, r.ReleaseID, r.Rollout = provider.KindStatefulSet, "net", id.New(id.KindRelease), &provider.RolloutSpec{ReadyTimeout: 7}
	}
	return r
}

func deploy(source provider.SourceType) dispatch.DeployRequest {
	r := dispatch.DeployRequest{InstanceID: id.New(id.KindWorkload), TenantID: "acme", ReleaseID: id.New(id.KindRelease), Labels: map[string]string{"a": "b"}}
	if source == provider.SourceServices {
		r.Services, r.Strategy, r.Rollout = []provider.ServiceDeploySpec{{Name: "web"}}, provider.StrategyRecreate, &provider.RolloutSpec{}
	} else {
		r.Source = sources[source]
	}
	return r
}

// verbs calls every verb and returns its error by name.
func verbs(t *testing.T, target dispatch.Target, source provider.SourceType) map[string]error {
	ctx, instance := t.Context(), id.New(id.KindWorkload)
	out := map[string]error{
		"rollback": target.Rollback(ctx, instance, id.New(id.KindRelease)), "scale": target.Scale(ctx, instance, provider.ResourceSpec{Replicas: 2}),
		"start": target.Start(ctx, instance), "stop": target.Stop(ctx, instance), "restart": target.Restart(ctx, instance),
	}
	_, out["provision"] = target.Provision(ctx, provision(source))
	_, out["deploy"] = target.Deploy(ctx, deploy(source))
	_, out["status"] = target.Status(ctx, instance)
	_, out["logs"] = target.Logs(ctx, instance, provider.LogOptions{ServiceName: "web"})
	_, out["exec"] = target.Exec(ctx, instance, provider.ExecRequest{Command: []string{"ls"}})
	_, out["resources"] = target.Resources(ctx, instance)
	out["deprovision"] = target.Deprovision(ctx, instance)
	return out
}

func TestEveryVerbGoesToWhatRunsTheSource(t *testing.T) {
	engineVerbs := []string{"provision", "deploy", "status", "deprovision"}
	for source, want := range map[provider.SourceType][]string{
		provider.SourceServices: {
			"Rollback rel", "Scale 2", "Start", "Stop", "Restart", "Provision acme shop stateful_set net rel web 7 map[a:b]",
			"Deploy rel web recreate true", "Status", "Logs web", "Exec [ls]", "Resources", "Deprovision",
		},
		provider.SourceHelm:      {"HelmInstall acme ns nginx", "HelmUpgrade ns nginx", "HelmStatus", "HelmUninstall"},
		provider.SourceManifests: {"ApplyManifests acme [doc] map[a:b]", "ApplyManifests acme [doc] map[a:b]", "ManifestStatus", "DeleteManifests"},
		provider.SourceArgoCD:    {"ArgoApply acme repo map[a:b]", "ArgoApply acme repo map[a:b]", "ArgoStatus", "ArgoDelete"},
	} {
		t.Run(string(source), func(t *testing.T) {
			var calls []string
			target, err := dispatch.To(engines{plain{allCaps, &calls}}, source)
			if err != nil {
				t.Fatal(err)
			}
			for verb, err := range verbs(t, target, source) {
				supported := source == provider.SourceServices || slices.Contains(engineVerbs, verb)
				if supported && err != nil || !supported && !errors.Is(err, provider.ErrNotSupported) {
					t.Errorf("%s: %v", verb, err)
				}
			}
			slices.Sort(calls)
			slices.Sort(want)
			if !slices.Equal(calls, want) {
				t.Errorf("calls %q\nwant %q", calls, want)
			}
		})
	}
}

func TestAnEngineNeedsInterfaceAndCapability(t *testing.T) {
	var calls []string
	for name, c := range map[string]struct {
		p      provider.Provider
		source provider.SourceType
	}{
		"no interface for helm":      {plain{allCaps, &calls}, provider.SourceHelm},
		"no interface for manifests": {plain{allCaps, &calls}, provider.SourceManifests},
		"no interface for argo":      {plain{allCaps, &calls}, provider.SourceArgoCD},
		"no capability for helm":     {engines{plain{nil, &calls}}, provider.SourceHelm},
		"no capability at all":       {engines{plain{nil, &calls}}, provider.SourceManifests},
		"another's capability":       {engines{plain{[]provider.Capability{provider.CapHelm}, &calls}}, provider.SourceArgoCD},
		"no provisioning":            {engines{plain{[]provider.Capability{provider.CapHelm}, &calls}}, provider.SourceServices},
		"an unknown source":          {engines{plain{allCaps, &calls}}, "compose"},
		"no provider":                {nil, provider.SourceServices},
	} {
		if target, err := dispatch.To(c.p, c.source); !errors.Is(err, provider.ErrUnsupportedSource) || target != nil {
			t.Errorf("%s: %v, %v", name, target, err)
		}
	}
}

func TestVerbsOfServicesNeedTheirCapability(t *testing.T) {
	var calls []string
	target, err := dispatch.To(plain{[]provider.Capability{provider.CapProvision}, &calls}, provider.SourceServices)
	if err != nil {
		t.Fatal(err)
	}
	errs := verbs(t, target, provider.SourceServices)
	for _, verb := range []string{"deploy", "rollback", "scale", "logs", "exec"} {
		if !errors.Is(errs[verb], provider.ErrNotSupported) {
			t.Errorf("%s: %v", verb, errs[verb])
		}
	}
	if want := []string{"Start", "Stop", "Restart", "Provision acme shop stateful_set net rel web 7 map[a:b]", "Status", "Resources", "Deprovision"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q\nwant %q", calls, want)
	}
}

func TestAStrategyNeedsItsCapability(t *testing.T) {
	for strategy, capability := range map[string]provider.Capability{
		provider.StrategyBlueGreen: provider.CapBlueGreen, provider.StrategyRolling: provider.CapRolling, provider.StrategyCanary: provider.CapCanary,
	} {
		for _, caps := range [][]provider.Capability{allCaps, append(slices.Clone(allCaps), capability)} {
			var calls []string
			target, err := dispatch.To(plain{caps, &calls}, provider.SourceServices)
			if err != nil {
				t.Fatal(err)
			}
			r := deploy(provider.SourceServices)
			r.Strategy = strategy
			_, err = target.Deploy(t.Context(), r)
			if has := slices.Contains(caps, capability); has != (err == nil) || has != (len(calls) == 1) || !has && !errors.Is(err, provider.ErrNotSupported) {
				t.Errorf("%s with its capability %v: %v, calls %q", strategy, has, err, calls)
			}
		}
	}
}

func TestARequestMustFitItsTarget(t *testing.T) {
	var calls []string
	p := engines{plain{allCaps, &calls}}
	for source := range sources {
		target, err := dispatch.To(p, source)
		if err != nil {
			t.Fatal(err)
		}
		for other := range sources {
			empty := dispatch.ProvisionRequest{Source: provider.RenderedSource{Type: source}}
			if _, err := target.Provision(t.Context(), empty); !errors.Is(err, provider.ErrInvalid) {
				t.Errorf("an empty source of type %s: %v", source, err)
			}
			if other == source {
				continue
			}
			if _, err := target.Provision(t.Context(), provision(other)); !errors.Is(err, provider.ErrInvalid) {
				t.Errorf("%s to the target of %s: %v", other, source, err)
			}
			if _, err := target.Deploy(t.Context(), dispatch.DeployRequest{Source: sources[other]}); !errors.Is(err, provider.ErrInvalid) {
				t.Errorf("deploy of %s to the target of %s: %v", other, source, err)
			}
		}
	}
	if len(calls) != 0 {
		t.Errorf("calls %q", calls)
	}
}

func TestAnEngineIgnoresNothing(t *testing.T) {
	var calls []string
	target, err := dispatch.To(engines{plain{allCaps, &calls}}, provider.SourceHelm)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*dispatch.ProvisionRequest){
		"kind":    func(r *dispatch.ProvisionRequest) { r.Kind = provider.KindDeployment },
		"release": func(r *dispatch.ProvisionRequest) { r.ReleaseID = id.New(id.KindRelease) },
		"network": func(r *dispatch.ProvisionRequest) { r.Network = "net" },
		"rollout": func(r *dispatch.ProvisionRequest) { r.Rollout = &provider.RolloutSpec{} },
	} {
		r := provision(provider.SourceHelm)
		change(&r)
		if _, err := target.Provision(t.Context(), r); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("provision with %s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*dispatch.DeployRequest){
		"services": func(r *dispatch.DeployRequest) { r.Services = []provider.ServiceDeploySpec{{}} },
		"strategy": func(r *dispatch.DeployRequest) { r.Strategy = provider.StrategyRolling },
		"rollout":  func(r *dispatch.DeployRequest) { r.Rollout = &provider.RolloutSpec{} },
	} {
		r := deploy(provider.SourceHelm)
		change(&r)
		if _, err := target.Deploy(t.Context(), r); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("deploy with %s: %v", name, err)
		}
	}
	if len(calls) != 0 {
		t.Errorf("calls %q", calls)
	}
}
