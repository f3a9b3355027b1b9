package hosting

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
)

// rowFormat is the version of the rows' form.
const rowFormat = 1

// row is all that is to be known of a lease, but for the bytes of its manifests. A
// row that others may see is never changed: see [row.clone].
type row struct {
	Format int    `json:"format"`
	Lease  string `json:"lease"`
	// Life is another one each time that the lease is provisioned after it was gone.
	Life         string              `json:"life"`
	Tenant       string              `json:"tenant"`
	ProviderUUID string              `json:"provider_uuid"`
	Items        []backend.LeaseItem `json:"items"`
	// Was are the items with which it was ready last, while others are tried.
	Was         []backend.LeaseItem     `json:"was,omitempty"`
	CallbackURL string                  `json:"callback_url"`
	CreatedAt   time.Time               `json:"created_at"`
	Status      backend.ProvisionStatus `json:"status"`
	FailCount   int                     `json:"fail_count,omitempty"`
	Reason      backend.Reason          `json:"reason,omitempty"`
	Message     string                  `json:"message,omitempty"`
	// Said is what the provider said of it, which the tenant never reads.
	Said string `json:"said,omitempty"`

	// Workloads are by service. They are there before the provider knows them.
	Workloads map[string]workload `json:"workloads,omitempty"`
	Releases  []release           `json:"releases,omitempty"` // oldest first
	Op        *operation          `json:"op,omitempty"`
	// Old are workloads that are to go before anything new is made.
	Old []id.ID `json:"old,omitempty"`
	// Pending are callbacks that the outbox does not have yet.
	Pending []pending `json:"pending,omitempty"`
	// Set is under what its volumes are recorded; that record says whether it owns them.
	Set string `json:"set,omitempty"`
	// Spill is an operation that failed, and whose volumes are to go.
	Spill string `json:"spill,omitempty"`
	// Deaths counts how often it failed by itself, ever.
	Deaths int `json:"deaths,omitempty"`
	// Gone says that nothing is left but the row, once the callbacks are handed on.
	Gone bool `json:"gone,omitempty"`
	// Names are its domains and the ways to it.
	Names names `json:"names,omitzero"`
}

// workload is what one service is at the provider.
type workload struct {
	Instance id.ID `json:"instance"`
	// Release is the one that the service should have, Before the one to return to.
	Release id.ID `json:"release"`
	Before  id.ID `json:"before,omitzero"`
}

// release is one manifest that was deployed, or was to be.
type release struct {
	Version   int               `json:"version"`
	Status    string            `json:"status"`
	CreatedAt time.Time         `json:"created_at"`
	Images    map[string]string `json:"images"`
	// Ports are those that the names of services lead to, of the services that have one.
	Ports   map[string]int `json:"ports,omitempty"`
	Reason  backend.Reason `json:"reason,omitempty"`
	Message string         `json:"message,omitempty"`
	Said    string         `json:"said,omitempty"` // by the provider
}

// opKind is what is under way.
type opKind string

const (
	opProvision opKind = "provision"
	opRestart   opKind = "restart"
	opUpdate    opKind = "update"
	opRestore   opKind = "restore"
)

// operation is a change that a request asked for.
type operation struct {
	// ID names it, and its callback.
	ID       string    `json:"id"`
	Kind     opKind    `json:"kind"`
	Version  int       `json:"version"` // of the manifest
	Deadline time.Time `json:"deadline"`
	// Done are the services whose workload the provider was told to change.
	Done map[string]bool `json:"done,omitempty"`
	// Paths are the directories that the images declare, by service; nil before that is
	// known.
	Paths map[string][]string `json:"paths"`
	// From is what a restart found, by service; nil before it looked.
	From map[string]origin `json:"from,omitempty"`
	// Failed says why it failed. What was changed then goes back.
	Failed *failure `json:"failed,omitempty"`
	// Back are the services whose workload the provider was told to take back.
	Back map[string]bool `json:"back,omitempty"`
	// BackBy is when going back has to be done.
	BackBy time.Time `json:"back_by,omitzero"`
}

// failure is why something failed, in words that are fit for the tenant, and what the
// provider said, which is for the operator alone.
type failure struct {
	Reason  backend.Reason `json:"reason"`
	Message string         `json:"message"`
	Said    string         `json:"said,omitempty"`
}

// pending is a callback on its way to the outbox.
type pending struct {
	Op      string                  `json:"op"`
	URL     string                  `json:"url"`
	Payload backend.CallbackPayload `json:"payload"`
}

// states are those that a row may have, and what may be under way in them.
var states = map[backend.ProvisionStatus][]opKind{
	backend.ProvisionStatusProvisioning: {opProvision, opRestore}, backend.ProvisionStatusRestarting: {opRestart}, backend.ProvisionStatusUpdating: {opUpdate},
	backend.ProvisionStatusReady: nil, backend.ProvisionStatusFailing: nil, backend.ProvisionStatusFailed: nil,
	backend.ProvisionStatusDeprovisioning: nil,
}

// clone is a row that may be changed.
func (r *row) clone() *row {
	out := *r
	out.Items, out.Was = slices.Clone(r.Items), slices.Clone(r.Was)
	out.Workloads = maps.Clone(r.Workloads)
	out.Releases = slices.Clone(r.Releases)
	out.Pending = slices.Clone(r.Pending)
	out.Old = slices.Clone(r.Old)
	out.Names = r.Names.clone()
	if r.Op != nil {
		op := *r.Op
		op.Done, op.Back, op.From = maps.Clone(op.Done), maps.Clone(op.Back), maps.Clone(op.From)
		if op.Failed != nil {
			f := *op.Failed
			op.Failed = &f
		}
		out.Op = &op
	}
	return &out
}

// active is the release that serves, or served last; nil when none ever did.
func (r *row) active() *release {
	for i := range slices.Backward(r.Releases) {
		if r.Releases[i].Status == backend.ReleaseStatusActive {
			return &r.Releases[i]
		}
	}
	return nil
}

// served is the release that is active, or was last; nil when none ever was.
func (r *row) served() *release {
	for i := range slices.Backward(r.Releases) {
		if status := r.Releases[i].Status; status == backend.ReleaseStatusActive || status == backend.ReleaseStatusSuperseded {
			return &r.Releases[i]
		}
	}
	return nil
}

// servedItems are those of the release that served.
func (r *row) servedItems() []backend.LeaseItem {
	if r.Was != nil {
		return r.Was
	}
	return r.Items
}

// release finds one by its version.
func (r *row) release(version int) *release {
	for i := range r.Releases {
		if r.Releases[i].Version == version {
			return &r.Releases[i]
		}
	}
	return nil
}

// manifestVersion is the manifest that the workloads are made from.
func (r *row) manifestVersion() int {
	if r.Op != nil {
		return r.Op.Version
	}
	if a := r.active(); a != nil {
		return a.Version
	}
	if n := len(r.Releases); n > 0 {
		return r.Releases[n-1].Version
	}
	return 0
}

// retire has the workloads go.
func (r *row) retire() {
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		r.Old = append(r.Old, r.Workloads[name].Instance)
	}
	r.Workloads = nil
	r.Names.leave()
}

// eachWorkload calls fn for all that are the lease's, those that are to go included.
func (r *row) eachWorkload(fn func(id.ID)) {
	for _, w := range r.Workloads {
		fn(w.Instance)
	}
	for _, w := range r.Old {
		fn(w)
	}
}

func (r *row) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode lease %s: %w", r.Lease, err)
	}
	return b, nil
}

// decodeRow reads the row of a lease. What planStep could not go by is an error.
func decodeRow(lease string, b []byte) (*row, error) {
	var r row
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, err
	}
	if r.Format != rowFormat {
		return nil, fmt.Errorf("it has the form %d, and this version reads %d", r.Format, rowFormat)
	}
	if r.Lease != lease {
		return nil, fmt.Errorf("it is the row of lease %q", r.Lease)
	}
	kinds, known := states[r.Status]
	if !known || (len(kinds) > 0) != (r.Op != nil) || r.Op != nil && !slices.Contains(kinds, r.Op.Kind) {
		return nil, fmt.Errorf("its status is %q, and its operation another's", r.Status)
	}
	return &r, nil
}
