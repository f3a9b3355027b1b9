package dockerprovider

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/provider"
)

// HealthCheck implements provider.HealthChecker.
func (d *Driver) HealthCheck(ctx context.Context) (*provider.HealthStatus, error) {
	begun := d.now()
	info, err := d.rt.Info(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask the engine: %w", ctx.Err())
	}
	now := d.now()
	st := &provider.HealthStatus{Healthy: err == nil, Latency: now.Sub(begun), CheckedAt: now}
	if err != nil {
		st.Message = err.Error()
		return st, nil
	}
	d.version.Store(&info.Version)
	st.Message = fmt.Sprintf("docker %s, API %s", info.Version, info.APIVersion)
	return st, nil
}
