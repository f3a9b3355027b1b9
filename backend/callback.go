package backend

import "time"

// CallbackStatus is what became of a lease.
type CallbackStatus string

// What a callback may say.
const (
	CallbackStatusSuccess       CallbackStatus = "success"
	CallbackStatusFailed        CallbackStatus = "failed"
	CallbackStatusDeprovisioned CallbackStatus = "deprovisioned"
)

// CallbackPayload is the body of a callback.
type CallbackPayload struct {
	LeaseUUID string         `json:"lease_uuid"`
	Status    CallbackStatus `json:"status"`
	// Error is fit for the tenant, and at most MaxCallbackError characters.
	Error   string `json:"error,omitempty"`
	Backend string `json:"backend,omitempty"` // "" from senders that do not say
	// Retained says of a lease that was deprovisioned that its data is kept.
	Retained bool `json:"retained,omitempty"`
}

// LeaseStatusEvent tells a tenant that a lease of his has changed.
type LeaseStatusEvent struct {
	LeaseUUID string          `json:"lease_uuid"`
	Status    ProvisionStatus `json:"status"`
	Error     string          `json:"error,omitempty"`
	Timestamp time.Time       `json:"timestamp"`
}
