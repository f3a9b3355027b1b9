package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Registry holds providers by name: one for every connection, so that there may be
// several of one type. It is safe for concurrent use.
type Registry struct {
	mu        sync.RWMutex
	providers map[string]Provider
	fallback  string
	resolver  CredentialsResolver
	metrics   Metrics
}

// NewRegistry makes an empty one.
func NewRegistry() *Registry { return &Registry{providers: map[string]Provider{}} }

// Register puts p under a name, in place of what was there. A nil p takes the
// name out.
func (r *Registry) Register(name string, p Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == nil {
		delete(r.providers, name)
		return
	}
	r.providers[name] = p
}

// SetDefault names the provider that an empty choice means.
func (r *Registry) SetDefault(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fallback = name
}

// DefaultName is what SetDefault set, and empty before.
func (r *Registry) DefaultName() string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.fallback
}

// Get is Resolve for those who do not need the key.
func (r *Registry) Get(name string) (Provider, error) {
	_, p, err := r.Resolve(name)
	return p, err
}

// Default is ResolveDefault for those who do not need the key.
func (r *Registry) Default() (Provider, error) {
	_, p, err := r.ResolveDefault()
	return p, err
}

// Resolve finds a provider and the key that it is registered under: the one
// registered as name, or else the only one whose type is name. When two have that type,
// or none, it is ErrProviderNotFound: a guess would drive the wrong orchestrator.
func (r *Registry) Resolve(name string) (string, Provider, error) {
	r.mu.RLock()
	p, found := r.providers[name]
	r.mu.RUnlock()
	if found {
		return name, p, nil
	}
	if name == "" {
		return "", nil, fmt.Errorf("%w: no name given", ErrProviderNotFound)
	}
	return r.resolveType(name)
}

// resolveType asks providers for their type outside of the lock, which is theirs
// to answer and may take them a moment.
func (r *Registry) resolveType(name string) (string, Provider, error) {
	all := r.All()
	var keys []string
	for key, p := range all {
		if p.Info().Name == name {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	switch len(keys) {
	case 0:
		return "", nil, fmt.Errorf("%w: %q is neither a name nor a type of one", ErrProviderNotFound, name)
	case 1:
		return keys[0], all[keys[0]], nil
	default:
		return "", nil, fmt.Errorf("%w: %q is the type of %s; name one of them", ErrProviderNotFound, name, strings.Join(keys, ", "))
	}
}

// ResolveDefault is Resolve for the default, and ErrProviderNotFound when none is
// set.
func (r *Registry) ResolveDefault() (string, Provider, error) {
	name := r.DefaultName()
	if name == "" {
		return "", nil, fmt.Errorf("%w: there is no default", ErrProviderNotFound)
	}
	return r.Resolve(name)
}

// List is the sorted names.
func (r *Registry) List() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.providers))
}

// All is a copy of the registry as it is now.
func (r *Registry) All() map[string]Provider {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return maps.Clone(r.providers)
}

// SetCredentialsResolver makes Acquire and WithCredentials ask res; nil ends that.
func (r *Registry) SetCredentialsResolver(res CredentialsResolver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resolver = res
}

// SetMetrics measures every call of the credentials resolver; nil measures
// nothing.
func (r *Registry) SetMetrics(m Metrics) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics = m
}

// Acquire is Resolve, and a context with the provider's credentials to make the
// call with. An empty name is the default.
func (r *Registry) Acquire(ctx context.Context, name string) (context.Context, Provider, error) {
	resolve := func() (string, Provider, error) { return r.Resolve(name) }
	if name == "" {
		resolve = r.ResolveDefault
	}
	key, p, err := resolve()
	if err != nil {
		return ctx, nil, err
	}
	ctx, err = r.WithCredentials(ctx, key)
	if err != nil {
		return ctx, nil, err
	}
	return ctx, p, nil
}

// WithCredentials is ctx with the credentials of the provider that is registered
// under key, and ctx itself when there is no resolver or it knows none. A
// resolver's error is wrapped and its text passed on, so it must hold no secret.
func (r *Registry) WithCredentials(ctx context.Context, key string) (context.Context, error) {
	r.mu.RLock()
	resolver, metrics, p := r.resolver, r.metrics, r.providers[key]
	r.mu.RUnlock()
	if resolver == nil {
		return ctx, nil
	}
	began := time.Now()
	creds, err := resolver.ResolveCredentials(ctx, key)
	if metrics != nil {
		labels := []Label{{LabelProvider, TypeName(p)}, {LabelOutcome, Outcome(err)}}
		metrics.Add(MetricCredentials, 1, labels...)
		metrics.Observe(MetricCredentialsDuration, time.Since(began), labels...)
	}
	if err != nil {
		return ctx, fmt.Errorf("resolve credentials of provider %q: %w", key, err)
	}
	if creds == nil {
		return ctx, nil
	}
	return ContextWithCredentials(ctx, creds), nil
}
