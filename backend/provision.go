package backend

import (
	"cmp"
	"encoding/json"
	"time"
)

// ProvisionStatus is where a lease is in its life.
type ProvisionStatus string

// Where a lease may be. From Failing on, a Deprovision preempts the failed
// callback that would come next.
const (
	ProvisionStatusProvisioning   ProvisionStatus = "provisioning"
	ProvisionStatusReady          ProvisionStatus = "ready"
	ProvisionStatusFailing        ProvisionStatus = "failing" // a container died, its diagnostics are gathered
	ProvisionStatusFailed         ProvisionStatus = "failed"
	ProvisionStatusUnknown        ProvisionStatus = "unknown"
	ProvisionStatusRestarting     ProvisionStatus = "restarting"
	ProvisionStatusUpdating       ProvisionStatus = "updating"
	ProvisionStatusDeprovisioning ProvisionStatus = "deprovisioning"
	ProvisionStatusRetained       ProvisionStatus = "retained" // gone but for its data
)

// Reason says why a lease or a release failed. The set is open: a reader takes one
// that it does not know as ReasonUnknown.
type Reason string

// Reasons that are given here.
const (
	ReasonContainerExited        Reason = "ContainerExited"
	ReasonImagePullFailed        Reason = "ImagePullFailed"
	ReasonInternal               Reason = "Internal"
	ReasonRestartFailed          Reason = "RestartFailed"
	ReasonUpdateFailed           Reason = "UpdateFailed"
	ReasonRestoreFailed          Reason = "RestoreFailed"
	ReasonVolumeCleanupExhausted Reason = "VolumeCleanupExhausted"
	ReasonCleanupFailed          Reason = "CleanupFailed"
	ReasonUnknown                Reason = "Unknown"
)

// ProvisionInfo is one lease as its backend has it.
type ProvisionInfo struct {
	LeaseUUID    string          `json:"lease_uuid"`
	ProviderUUID string          `json:"provider_uuid"`
	Status       ProvisionStatus `json:"status"`
	CreatedAt    time.Time       `json:"created_at"`
	// FailCount is how often the lease has failed since an operation of it last
	// succeeded. A change that was taken back is no failure of it: what served
	// before serves.
	FailCount int `json:"fail_count"`
	// LastError has the words of Message, for readers that know no Message.
	LastError string `json:"last_error,omitempty"`
	// Reason and Message say why the lease failed last. Message is fit for its
	// tenant: it has no paths, addresses or output.
	Reason      Reason `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	BackendName string `json:"-"` // set by who asked

	// RetainedUntil is when the data of a retained lease is given up; zero: never,
	// or it is not retained.
	RetainedUntil time.Time `json:"retained_until,omitzero"`
	// Tenant holds the lease. It is for the holder of the ledger, and belongs in no
	// answer to another tenant.
	Tenant string `json:"tenant,omitempty"`
	// Partition is the part of an aggregating tenant that the lease counts to.
	Partition string `json:"partition,omitempty"`

	Image         string            `json:"image,omitempty"` // of a lease with one service
	SKU           string            `json:"sku,omitempty"`   // of a lease with one item
	Quantity      int               `json:"quantity"`        // containers in all
	Items         []LeaseItem       `json:"items,omitempty"`
	ServiceImages map[string]string `json:"service_images,omitempty"`
}

// ReleaseInfo is one manifest that was deployed, or was to be.
type ReleaseInfo struct {
	Version   int       `json:"version"` // from 1 on
	Image     string    `json:"image"`
	Status    string    `json:"status"` // see the ReleaseStatus constants
	CreatedAt time.Time `json:"created_at"`
	// Error has the words of Message, for readers that know no Message.
	Error    string `json:"error,omitempty"`
	Reason   Reason `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"`
	Manifest []byte `json:"manifest"`
}

// What a release may be.
const (
	ReleaseStatusDeploying  = "deploying"
	ReleaseStatusActive     = "active"
	ReleaseStatusSuperseded = "superseded"
	ReleaseStatusFailed     = "failed"
)

// RetainedLease is a lease of which the data is retained.
type RetainedLease struct {
	LeaseUUID string `json:"lease_uuid"`
}

// ListProvisionsResponse is all leases, or a page of them. Continue asks for the
// next page; "" ends the list.
type ListProvisionsResponse struct {
	Provisions []ProvisionInfo `json:"provisions"`
	Continue   string          `json:"continue,omitempty"`
}

// ListRetentionsResponse is all retained leases, or a page of them. Continue is as
// in ListProvisionsResponse.
type ListRetentionsResponse struct {
	Retentions []RetainedLease `json:"retentions"`
	Continue   string          `json:"continue,omitempty"`
}

// MarshalJSON implements json.Marshaler: the words stand in both fields.
func (p ProvisionInfo) MarshalJSON() ([]byte, error) {
	type plain ProvisionInfo
	p.LastError, p.Message = both(p.LastError, p.Message)
	return json.Marshal(plain(p))
}

// UnmarshalJSON implements json.Unmarshaler: the words are taken from whichever
// field has them, and a lease that failed has a reason.
func (p *ProvisionInfo) UnmarshalJSON(b []byte) error {
	return p.read(func(into any) error { return json.Unmarshal(b, into) })
}

// plainProvision is a ProvisionInfo that is read field by field.
type plainProvision ProvisionInfo

func (p *ProvisionInfo) read(decode func(into any) error) error {
	if err := decode((*plainProvision)(p)); err != nil {
		return err
	}
	p.LastError, p.Message = both(p.LastError, p.Message)
	if p.Reason == "" && p.Status == ProvisionStatusFailed {
		p.Reason = ReasonUnknown
	}
	return nil
}

// MarshalJSON implements json.Marshaler: the words stand in both fields.
func (r ReleaseInfo) MarshalJSON() ([]byte, error) {
	type plain ReleaseInfo
	r.Error, r.Message = both(r.Error, r.Message)
	return json.Marshal(plain(r))
}

// UnmarshalJSON implements json.Unmarshaler, as for a ProvisionInfo.
func (r *ReleaseInfo) UnmarshalJSON(b []byte) error {
	type plain ReleaseInfo
	if err := json.Unmarshal(b, (*plain)(r)); err != nil {
		return err
	}
	r.Error, r.Message = both(r.Error, r.Message)
	if r.Reason == "" && r.Status == ReleaseStatusFailed {
		r.Reason = ReasonUnknown
	}
	return nil
}

// both gives the words of either to both.
func both(older, newer string) (string, string) {
	return cmp.Or(older, newer), cmp.Or(newer, older)
}
