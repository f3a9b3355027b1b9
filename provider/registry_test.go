package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/provider"
)

func TestResolve(t *testing.T) {
	r := provider.NewRegistry()
	r.Register("prod", fixed{name: "kubernetes"})
	r.Register("a", fixed{name: "docker"})
	r.Register("b", fixed{name: "docker"})
	r.Register("nomad", fixed{name: "kubernetes-like"})
	r.Register("other", fixed{name: "nomad"})
	for name, want := range map[string]string{
		"prod": "prod", "kubernetes": "prod", // by the only one of its type
		"docker": "", "podman": "", "": "", // two of its type, none, no name
		"nomad": "nomad", // a key before a type
	} {
		key, p, err := r.Resolve(name)
		if key != want || (want == "") != errors.Is(err, provider.ErrProviderNotFound) || (want == "") != (p == nil) {
			t.Errorf("Resolve(%q) = %q, %v, %v, want %q", name, key, p, err, want)
		}
		if got, err2 := r.Get(name); got != nil && provider.TypeName(got) != provider.TypeName(p) || (err == nil) != (err2 == nil) {
			t.Errorf("Get(%q) = %v, %v, other than Resolve", name, got, err2)
		}
	}
	if _, _, err := r.Resolve("docker"); !strings.Contains(err.Error(), "a, b") {
		t.Errorf("the error does not name the choices: %v", err)
	}
}

func TestDefault(t *testing.T) {
	r := provider.NewRegistry()
	if _, err := r.Default(); !errors.Is(err, provider.ErrProviderNotFound) || r.DefaultName() != "" {
		t.Errorf("without a default: %v", err)
	}
	r.SetDefault("a")
	if _, _, err := r.ResolveDefault(); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("with a default that is not there: %v", err)
	}
	r.Register("a", fixed{name: "docker"})
	key, _, err := r.ResolveDefault()
	if p, err2 := r.Default(); err != nil || err2 != nil || key != "a" || provider.TypeName(p) != "docker" || r.DefaultName() != "a" {
		t.Errorf("the default is %q %v: %v, %v", key, p, err, err2)
	}
}

func TestListIsSortedAndAllIsACopy(t *testing.T) {
	r := provider.NewRegistry()
	for _, name := range []string{"c", "a", "b"} {
		r.Register(name, fixed{})
	}
	if got := r.List(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("List is %q", got)
	}
	delete(r.All(), "a")
	if len(r.All()) != 3 {
		t.Error("a change of All reached the registry")
	}
	r.Register("b", nil)
	if got := r.List(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("List is %q after b was taken out", got)
	}
}

// counted is one call of Metrics.
type counted struct {
	name   string
	n      int64
	took   time.Duration
	labels string
}

type recorder struct {
	mu    sync.Mutex
	calls []counted
}

func (r *recorder) Add(name string, n int64, labels ...provider.Label) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, counted{name: name, n: n, labels: fmt.Sprint(labels)})
}

func (r *recorder) Observe(name string, took time.Duration, labels ...provider.Label) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, counted{name: name, took: took, labels: fmt.Sprint(labels)})
}

func TestAcquireBringsTheCredentialsOfTheKey(t *testing.T) {
	r := provider.NewRegistry()
	r.Register("prod", fixed{name: "kubernetes"})
	r.SetDefault("prod")
	if ctx, _, err := r.Acquire(t.Context(), "prod"); err != nil || ctx != t.Context() {
		t.Errorf("without a resolver the context is another one, %v", err)
	}
	r.SetCredentialsResolver(provider.CredentialsResolverFunc(func(_ context.Context, key string) (*provider.Credentials, error) {
		return &provider.Credentials{Values: map[string]string{"key": key}}, nil
	}))
	for _, name := range []string{"prod", "kubernetes", ""} {
		ctx, p, err := r.Acquire(t.Context(), name)
		creds, ok := provider.CredentialsFromContext(ctx)
		if err != nil || p == nil || !ok || creds.Values["key"] != "prod" {
			t.Errorf("Acquire(%q): %v, %v, %v", name, p, ok, err)
		}
	}
	if _, _, err := r.Acquire(t.Context(), "other"); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("Acquire of another: %v", err)
	}
	r.SetCredentialsResolver(nil)
	if ctx, err := r.WithCredentials(t.Context(), "prod"); err != nil || ctx != t.Context() {
		t.Errorf("with the resolver taken away: %v", err)
	}
}

func TestAFailingResolverFailsTheCall(t *testing.T) {
	r := provider.NewRegistry()
	r.Register("prod", fixed{name: "kubernetes"})
	broken := errors.New("vault is sealed")
	r.SetCredentialsResolver(provider.CredentialsResolverFunc(func(context.Context, string) (*provider.Credentials, error) { return nil, broken }))
	if _, p, err := r.Acquire(t.Context(), "prod"); !errors.Is(err, broken) || p != nil {
		t.Errorf("Acquire: %v, %v", p, err)
	}
	r.SetCredentialsResolver(provider.CredentialsResolverFunc(func(context.Context, string) (*provider.Credentials, error) { return nil, nil }))
	ctx, _, err := r.Acquire(t.Context(), "prod")
	if _, ok := provider.CredentialsFromContext(ctx); err != nil || ok {
		t.Errorf("a resolver that knows none: %v, %v", ok, err)
	}
}

func TestEveryCallOfTheResolverIsTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m recorder
		var result error
		r := provider.NewRegistry()
		r.Register("customer-4711", fixed{name: "kubernetes"})
		r.SetMetrics(&m)
		r.SetCredentialsResolver(provider.CredentialsResolverFunc(func(context.Context, string) (*provider.Credentials, error) {
			<-time.After(30 * time.Millisecond)
			return nil, result
		}))
		for _, result = range []error{nil, errors.New("x"), provider.ErrNotFound, context.Canceled} {
			_, _ = r.WithCredentials(t.Context(), "customer-4711")
		}
		var want []counted
		for _, outcome := range []string{"ok", "error", "not_found", "canceled"} {
			labels := "[{provider kubernetes} {outcome " + outcome + "}]"
			want = append(want, counted{provider.MetricCredentials, 1, 0, labels}, counted{provider.MetricCredentialsDuration, 0, 30 * time.Millisecond, labels})
		}
		if !slices.Equal(m.calls, want) {
			t.Errorf("recorded %v\nwant %v", m.calls, want)
		}
		r.SetMetrics(nil)
		_, _ = r.WithCredentials(t.Context(), "customer-4711")
		if len(m.calls) != len(want) {
			t.Error("nil metrics still record")
		}
	})
}

func TestARegistryMayBeUsedConcurrently(t *testing.T) {
	r := provider.NewRegistry()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				name := fmt.Sprintf("p%d", (i+j)%3)
				r.Register(name, fixed{name: "docker"})
				r.SetDefault(name)
				r.SetMetrics(&recorder{})
				r.SetCredentialsResolver(provider.CredentialsResolverFunc(func(context.Context, string) (*provider.Credentials, error) { return nil, nil }))
				_, _, _ = r.Acquire(t.Context(), "docker")
				_, _ = r.Default()
				_, _ = r.List(), r.All()
			}
		})
	}
	wg.Wait()
	if got := r.List(); !slices.Equal(got, []string{"p0", "p1", "p2"}) {
		t.Errorf("List is %q", got)
	}
}

func TestCredentialsShowNothing(t *testing.T) {
	const secret = "canary-7c1f"
	c := &provider.Credentials{Values: map[string]string{"token": secret}, Raw: secret, ExpiresAt: time.Unix(1, 0)}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "creds", c, "value", *c, "list", []provider.Credentials{*c})
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out := logged.String() + string(text) + fmt.Sprintf("%v %+v %#v %s %q %x %d %v", c, c, c, c, *c, *c, *c, []*provider.Credentials{c})
	out += fmt.Sprint(struct{ C provider.Credentials }{*c})
	if strings.Contains(out, secret) || strings.Contains(out, fmt.Sprintf("%x", secret)) {
		t.Errorf("the secret is in %s", out)
	}
	if _, ok := provider.CredentialsFromContext(provider.ContextWithCredentials(t.Context(), nil)); ok {
		t.Error("nil credentials count as some")
	}
}

func TestTypeName(t *testing.T) {
	for want, p := range map[string]provider.Provider{"unknown": nil, "docker": fixed{name: "docker"}} {
		if got := provider.TypeName(p); got != want {
			t.Errorf("TypeName(%v) = %q, want %q", p, got, want)
		}
	}
	if got := provider.TypeName(fixed{}); got != "unknown" {
		t.Errorf("a provider without a name is %q", got)
	}
}

func TestHasCapability(t *testing.T) {
	p := fixed{caps: []provider.Capability{provider.CapLogs}}
	if !provider.HasCapability(p, provider.CapLogs) || provider.HasCapability(p, provider.CapExec) || provider.HasCapability(nil, provider.CapLogs) {
		t.Error("HasCapability is wrong")
	}
}
