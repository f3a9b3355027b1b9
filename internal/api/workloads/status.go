package workloads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

const (
	// lookTimeout bounds one look at a workload by its provider.
	lookTimeout = 10 * time.Second

	// looksAtOnce bounds the looks of one request under way.
	looksAtOnce = 8
)

// stateUnknown is the state of a workload whose provider does not say.
const stateUnknown = "unknown"

// List is the status of every workload, sorted by name.
func (s *Service) List(ctx context.Context) (wire.WorkloadList, error) {
	all, err := s.rows(ctx)
	if err != nil {
		return wire.WorkloadList{}, err
	}
	out := wire.WorkloadList{Workloads: make([]wire.WorkloadStatus, len(all))}
	var looks errgroup.Group
	looks.SetLimit(looksAtOnce)
	for i, r := range all {
		looks.Go(func() error {
			var err error
			out.Workloads[i], err = s.status(ctx, r)
			return err
		})
	}
	return out, looks.Wait()
}

// Status is everything known about a workload. That its provider does not answer
// is a state and no error.
func (s *Service) Status(ctx context.Context, name string) (wire.WorkloadStatus, error) {
	r, err := s.row(ctx, name)
	if err != nil {
		return wire.WorkloadStatus{}, err
	}
	out, err := s.status(ctx, r)
	return out, s.said(ctx, r, err)
}

func (s *Service) status(ctx context.Context, r row) (wire.WorkloadStatus, error) {
	out := wire.WorkloadStatus{
		Name: r.Name, ID: r.ID.String(), Provider: r.Provider, Kind: string(r.Shape.Kind), CreatedAt: r.CreatedAt,
		Trouble: s.troubles.get(r.ID), Services: []wire.WorkloadService{},
	}
	have, err := s.history(ctx, r)
	if err != nil {
		return out, err
	}
	if have.newest != nil {
		out.Rollout = s.wireRollout(ctx, r, have.newest, have.base)
	}
	if have.current != nil {
		out.Release = version(have.current.Version)
	}
	images := map[string]string{}
	if have.base != nil {
		for _, svc := range have.base.Services {
			images[svc.Name] = svc.Image
		}
	}
	seen, err := s.look(ctx, r)
	text := s.words(ctx, r, have)
	switch {
	case errors.Is(err, provider.ErrNotFound) && (have.open != nil || have.newest == nil):
		out.State = string(provider.StateProvisioning)
	case errors.Is(err, provider.ErrNotFound):
		out.State, out.Reason = string(provider.StateFailed), string(provider.ReasonMissing)
		out.Message = fmt.Sprintf("the provider %s does not know it", r.Provider)
	case err != nil:
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out.State, out.Reason, out.Message = stateUnknown, string(provider.ReasonUnavailable), have.labels(r).plain(err.Error())
	default:
		observed(&out, seen, text)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Shape.Services)) {
		svc := wire.WorkloadService{Service: name, Role: string(r.Shape.Services[name].Role), Image: images[name], Replicas: []wire.WorkloadReplica{}, State: out.State}
		if seen != nil {
			observedService(&svc, seen.Services[name], text)
		}
		out.Services = append(out.Services, svc)
		if svc.Role == string(provider.RoleMain) {
			out.Replicas, out.Serving = len(svc.Replicas), ready(svc.Replicas)
		}
	}
	if have.open != nil {
		out.Ready = false
	}
	if r.Removing {
		out.State, out.Ready = string(provider.StateDestroying), false
	}
	return out, nil
}

func ready(replicas []wire.WorkloadReplica) int {
	n := 0
	for _, r := range replicas {
		if r.Ready {
			n++
		}
	}
	return n
}

// words puts messages of a provider into words, by their reasons. Many replicas have
// the same to say.
func (s *Service) words(ctx context.Context, r row, have history) func(provider.Reason, string) string {
	names, known := have.labels(r), map[string]string{}
	return func(reason provider.Reason, message string) string {
		if text, ok := known[message]; ok {
			return text
		}
		text := names.plain(message)
		if reason == provider.ReasonSecretMissing && have.newest != nil {
			text = s.secretText(ctx, r, text, have.newest.Release)
		}
		known[message] = text
		return text
	}
}

// look asks the provider how a workload is.
func (s *Service) look(ctx context.Context, r row) (*provider.InstanceStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return nil, err
	}
	st, err := t.Status(ctx, r.ID)
	if err == nil && st == nil {
		err = fmt.Errorf("%w: the provider returned no status", provider.ErrUnavailable)
	}
	return st, err
}

// Providers says what there is to run workloads on, and whether each answers.
func (s *Service) Providers(ctx context.Context) wire.ProviderList {
	names := s.cfg.Registry.List()
	out := wire.ProviderList{Providers: make([]wire.Provider, len(names))}
	fallback := s.cfg.Registry.DefaultName()
	var asks errgroup.Group
	asks.SetLimit(looksAtOnce)
	for i, name := range names {
		asks.Go(func() error {
			out.Providers[i] = s.provider(ctx, name)
			out.Providers[i].Default = name == fallback
			return nil
		})
	}
	_ = asks.Wait() // what a provider fails with is in what is said of it
	return out
}

// healthTimeout bounds one health check.
const healthTimeout = 3 * time.Second

func (s *Service) provider(ctx context.Context, name string) wire.Provider {
	out := wire.Provider{Name: name, Capabilities: []string{}}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	ctx, p, err := s.cfg.Registry.Acquire(ctx, name)
	if err != nil {
		out.Message = err.Error()
		return out
	}
	for _, c := range p.Capabilities() {
		out.Capabilities = append(out.Capabilities, string(c))
	}
	slices.Sort(out.Capabilities)
	out.Healthy, out.Message = true, "it has no health check"
	if checker, ok := p.(provider.HealthChecker); ok {
		began := s.now()
		st, err := checker.HealthCheck(ctx)
		switch {
		case err != nil:
			out.Healthy, out.Message, out.LatencyMS = false, err.Error(), s.now().Sub(began).Milliseconds()
		case st != nil:
			out.Healthy, out.Message, out.LatencyMS, out.CheckedAt = st.Healthy, st.Message, st.Latency.Milliseconds(), st.CheckedAt
		}
	}
	info := p.Info() // some know their version only once they were asked how they are
	out.Type, out.Version, out.Region = info.Name, info.Version, info.Region
	return out
}
