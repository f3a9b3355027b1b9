package provider

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Credentials are what a provider needs to be let in by its orchestrator for one
// call. Values holds flat ones, a key and its secret, a token; Raw holds an
// object that only the provider knows. They are never encoded and never printed: every way to
// format them says that they are redacted.
type Credentials struct {
	Values map[string]string `json:"-"`
	Raw    any               `json:"-"`

	// ExpiresAt is the end of their life; zero is unknown or never.
	ExpiresAt time.Time `json:"-"`
}

const redacted = "[redacted]"

// String says that there is nothing to see.
func (Credentials) String() string { return redacted }

// GoString is String, for %#v.
func (Credentials) GoString() string { return redacted }

// Format is String for every verb; without it %d would print the fields.
func (Credentials) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// LogValue is String, for slog.
func (Credentials) LogValue() slog.Value { return slog.StringValue(redacted) }

// CredentialsResolver finds the credentials of the provider that is registered
// under a key. It is asked before every call, so it caches what is dear, and
// renews what runs out.
type CredentialsResolver interface {
	ResolveCredentials(ctx context.Context, providerKey string) (*Credentials, error)
}

// CredentialsResolverFunc is a function as a CredentialsResolver.
type CredentialsResolverFunc func(ctx context.Context, providerKey string) (*Credentials, error)

var _ CredentialsResolver = CredentialsResolverFunc(nil)

// ResolveCredentials calls f.
func (f CredentialsResolverFunc) ResolveCredentials(ctx context.Context, providerKey string) (*Credentials, error) {
	return f(ctx, providerKey)
}

type credentialsKey struct{}

// ContextWithCredentials is ctx with credentials for the calls made with it.
// Registry.Acquire does it; by hand it is for calls that go around a Registry.
func ContextWithCredentials(ctx context.Context, creds *Credentials) context.Context {
	return context.WithValue(ctx, credentialsKey{}, creds)
}

// CredentialsFromContext is what ContextWithCredentials put in. Without any, a provider
// uses those that it was made with.
func CredentialsFromContext(ctx context.Context) (*Credentials, bool) {
	creds, _ := ctx.Value(credentialsKey{}).(*Credentials)
	return creds, creds != nil
}
