package instances

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

type tenantKey struct{}

// WithTenant says in a context for whom something is done.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// TenantFrom is the tenant of WithTenant, and whether there is one.
func TenantFrom(ctx context.Context) (string, bool) {
	tenant, ok := ctx.Value(tenantKey{}).(string)
	return tenant, ok
}

const maxName = 32

var identifier = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// checkName keeps what becomes a part of an object's key harmless: no dot, no slash,
// nothing that two of could read as another one.
func checkName(what, name string) error {
	if len(name) > maxName || !identifier.MatchString(name) || strings.Contains(name, "--") {
		return fmt.Errorf("%w: the %s %q is not 1 to %d lower-case letters, digits and single dashes inside", ErrInvalidRequest, what, clip(name), maxName)
	}
	return nil
}
