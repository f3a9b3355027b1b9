package provider

import (
	"context"
	"time"
)

// HealthChecker is what a provider also implements that can say whether its
// orchestrator answers.
type HealthChecker interface {
	// HealthCheck makes one cheap call. An orchestrator that does not answer is a
	// status with Healthy false; an error means that nothing is known.
	HealthCheck(ctx context.Context) (*HealthStatus, error)
}

// HealthStatus is the result of one HealthCheck.
type HealthStatus struct {
	Healthy   bool          `db:"healthy" json:"healthy"`
	Message   string        `db:"message" json:"message"`
	Latency   time.Duration `db:"latency" json:"latency"`
	CheckedAt time.Time     `db:"checked_at" json:"checked_at"`
}
