package providertest

import (
	"context"
	"slices"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// capabilityCases are about what a provider says that it can.
var capabilityCases = []Case{
	{Name: "Provision/Capabilities", run: capabilities},
	{Name: "Provision/Unsupported", run: unsupported},
	{Name: "Provision/HealthCheck", run: healthCheck},
}

func capabilities(e *env) {
	info := e.Provider.Info()
	if info.Name == "" {
		e.Errorf("Info has no name")
	}
	if again := e.Provider.Info(); again.Name != info.Name || again.Region != info.Region {
		e.Errorf("Info is %+v and then %+v", info, again)
	}
	all := e.Provider.Capabilities()
	kept := slices.Clone(all)
	for i, c := range all {
		if c == "" || slices.Contains(all[:i], c) {
			e.Errorf("capability %q is empty or listed twice", c)
		}
		all[i] = "changed by the caller"
	}
	if again := e.Provider.Capabilities(); !slices.Equal(again, kept) {
		e.Errorf("a caller who changed the slice changed the capabilities to %q", again)
	}
	for c, implements := range map[provider.Capability]bool{
		provider.CapHelm: is[provider.HelmEngine](e), provider.CapManifests: is[provider.ManifestEngine](e), provider.CapArgoCD: is[provider.ArgoEngine](e),
		provider.CapKeptVolumes: is[provider.VolumeKeeper](e),
	} {
		if slices.Contains(kept, c) && !implements {
			e.Errorf("%q is listed and its interface is not implemented", c)
		}
	}
}

func is[I any](e *env) bool {
	_, ok := e.Provider.(I)
	return ok
}

func unsupported(e *env) {
	lacks := func(c provider.Capability) bool { return !provider.HasCapability(e.Provider, c) }
	asks := map[provider.Capability]func(*provider.ServiceSpec){
		provider.CapGPU:           func(s *provider.ServiceSpec) { s.Resources.GPU = "1" },
		provider.CapCustomDomains: func(s *provider.ServiceSpec) { s.Ports[0].Domains = []string{"conformance.example"} },
		provider.CapTLS: func(s *provider.ServiceSpec) {
			s.Ports[0].Domains, s.Ports[0].TLS = []string{"conformance.example"}, &provider.TLSSpec{Secret: "certificate"}
		},
		provider.CapVolumes: func(s *provider.ServiceSpec) { *s = mounted(*s, false) },
	}
	asks[provider.CapKeptVolumes] = func(s *provider.ServiceSpec) {
		*s = mounted(*s, false)
		s.Volumes[0].IDs = []string{"conformance"}
	}
	tried := 0
	for c, ask := range asks {
		if !lacks(c) || lacks(provider.CapProvision) {
			continue
		}
		tried++
		req := e.request()
		ask(&req.Services[0])
		if c == provider.CapKeptVolumes {
			req.Kind = provider.KindStatefulSet
		}
		e.know(req.InstanceID)
		_, err := e.Provider.Provision(e.ctx, req)
		e.want(err, provider.ErrNotSupported, "Provision of what needs "+string(c))
		_, err = e.Provider.Status(e.ctx, req.InstanceID)
		e.want(err, provider.ErrNotFound, "Status after a request for what needs "+string(c))
		e.leaves(req.InstanceID, "a request for what needs "+string(c))
	}
	for _, v := range verbs {
		if lacks(v.need) {
			tried++
			req := e.request()
			e.want(v.call(e.ctx, e, req.InstanceID), provider.ErrNotSupported, v.name+" of a provider that does not list "+string(v.need))
		}
	}
	if tried == 0 {
		e.Skipf("the provider lists everything that the case can ask for")
	}
}

func healthCheck(e *env) {
	checker, ok := e.Provider.(provider.HealthChecker)
	if !ok {
		e.Skipf("the provider does not implement HealthChecker")
	}
	st, err := checker.HealthCheck(e.ctx)
	e.must(err, "HealthCheck")
	switch {
	case st == nil:
		e.Fatalf("HealthCheck returned neither a status nor an error")
	case !st.Healthy:
		e.Errorf("the orchestrator is not healthy: %s", st.Message)
	case st.CheckedAt.IsZero() || st.Latency < 0:
		e.Errorf("the check has no time or a bad one: %+v", st)
	}
	if e.Fault == nil {
		return
	}
	if struck := e.Fault(Fault{Call: 1, Kind: Hang}); struck != nil {
		defer struck()
		ctx, cancel := context.WithTimeout(e.ctx, time.Second)
		defer cancel()
		if st, err := checker.HealthCheck(ctx); err == nil && st.Healthy {
			e.Errorf("an orchestrator that does not answer is healthy")
		}
	}
}
