package hosting

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Inspection is all that is known of a lease, for who operates the backend. It has
// what its tenant and holder may not see, such as an engine's words.
type Inspection struct {
	Lease backend.ProvisionInfo
	// Said is what the provider said of the failure that Lease tells, or what a call of it
	// was answered that is being repeated; "" where there is none.
	Said string
	// Gone says that nothing is left of it but callbacks, volumes that are being removed
	// and what it said last.
	Gone bool
	// Deaths counts how often it failed by itself, ever.
	Deaths int
	// CallbackOrigin is where callbacks go, without a path, which may be a secret.
	CallbackOrigin string
	// Unsent are callbacks that the outbox does not have yet.
	Unsent int

	Op        *Operation // nil: nothing is under way
	Workloads []Workload // by service
	// Leaving are workloads that are to go before anything else happens.
	Leaving  []id.ID
	Releases []Release // oldest first
	Domains  []Domain
	// Volumes are those that it holds, and those that it left.
	Volumes []VolumeSet
}

// Operation is a change that is under way.
type Operation struct {
	ID       string
	Kind     string // provision, restart, update or restore
	Version  int    // of the release that is to be
	Deadline time.Time
	Done     []string // services that the provider was told to change
	// Reason and Message say why it failed; it is then going back, until BackBy.
	Reason  backend.Reason
	Message string
	Said    string // by the provider
	BackBy  time.Time
}

// Workload is one service of a lease as the provider has it.
type Workload struct {
	Service  string
	Instance id.ID
	Release  id.ID // that it should have
	// Known is whether the provider knows it. State and what follows are empty else.
	Known    bool
	State    provider.InstanceState
	Ready    int // replicas
	Replicas int
	Restarts int
	Reason   provider.Reason
	Message  string
	// Err is why the provider could not say; nil where it did.
	Err error
}

// Release is one manifest that was deployed, or was to be.
type Release struct {
	Version   int
	Status    string
	CreatedAt time.Time
	Images    map[string]string // by service
	Reason    backend.Reason
	Message   string
	Said      string // by the provider
}

// inspectTime bounds what an Inspect waits for the provider, in all.
const inspectTime = 5 * time.Second

// Inspect looks at one lease. A provider that does not answer within five seconds is
// said of each workload, and is no error. A lease that is not known, and of which nothing
// is kept, is backend.ErrNotProvisioned.
func (h *Hosting) Inspect(ctx context.Context, lease string) (*Inspection, error) {
	r := h.rows.get(lease).row
	if r == nil {
		return h.inspectGone(ctx, lease)
	}
	out := &Inspection{
		Lease: h.info(r), Said: cmp.Or(h.trouble(lease), r.Said), Gone: r.Gone, Deaths: r.Deaths, CallbackOrigin: schemeAndHost(r.CallbackURL), Unsent: len(r.Pending),
		Leaving: slices.Clone(r.Old), Op: r.Op.inspect(), Domains: h.domainsOf(r), Volumes: h.volumesOf(lease, r),
	}
	for _, rel := range r.Releases {
		out.Releases = append(out.Releases, Release{
			Version: rel.Version, Status: rel.Status, CreatedAt: rel.CreatedAt, Images: maps.Clone(rel.Images), Reason: rel.Reason, Message: rel.Message, Said: rel.Said,
		})
	}
	ctx, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	for _, service := range slices.Sorted(maps.Keys(r.Workloads)) {
		out.Workloads = append(out.Workloads, h.inspectWorkload(ctx, service, r.Workloads[service]))
	}
	return out, nil
}

func (h *Hosting) inspectWorkload(ctx context.Context, service string, w workload) Workload {
	out := Workload{Service: service, Instance: w.Instance, Release: w.Release}
	st, err := h.cfg.Provider.Status(ctx, w.Instance)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return out
	case err != nil:
		out.Err = err
		return out
	}
	out.Known, out.State, out.Restarts, out.Reason, out.Message = true, st.State, st.Restarts, st.Reason, st.Message
	for _, replica := range st.Services[service].Replicas {
		out.Replicas++
		if replica.Ready {
			out.Ready++
		}
	}
	return out
}

func (op *operation) inspect() *Operation {
	if op == nil {
		return nil
	}
	out := &Operation{
		ID: op.ID, Kind: string(op.Kind), Version: op.Version, Deadline: op.Deadline, Done: slices.Sorted(maps.Keys(op.Done)), BackBy: op.BackBy,
	}
	if op.Failed != nil {
		out.Reason, out.Message, out.Said = op.Failed.Reason, op.Failed.Message, op.Failed.Said
	}
	return out
}

// schemeAndHost is the scheme and host of a URL.
func schemeAndHost(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Matching is the leases whose UUID begins with a prefix, in order and at most limit
// of them (0: all), and whether there are more. Those are among them of which nothing
// is left but callbacks, volumes or what they said last.
func (h *Hosting) Matching(prefix string, limit int) (leases []string, more bool) {
	rows, more := h.rows.matching(prefix, limit)
	left := slices.Concat(h.sets.leavers(prefix), h.diagnoses.matching(prefix))
	if more { // those that come after the last row are beyond the limit
		left = slices.DeleteFunc(left, func(lease string) bool { return lease > rows[len(rows)-1] })
	}
	leases = slices.Concat(rows, left)
	slices.Sort(leases)
	leases = slices.Compact(leases)
	if limit > 0 && len(leases) > limit {
		return leases[:limit], true
	}
	return leases, more
}

func (s *rows) matching(prefix string, limit int) (leases []string, more bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	at, _ := slices.BinarySearch(s.order, prefix)
	for _, lease := range s.order[at:] {
		if !strings.HasPrefix(lease, prefix) {
			return leases, false
		}
		if limit > 0 && len(leases) == limit {
			return leases, true
		}
		leases = append(leases, lease)
	}
	return leases, false
}

// CountByStatus is how many leases are in each state. Those that are gone but for
// their callbacks are deprovisioning.
func (h *Hosting) CountByStatus() map[backend.ProvisionStatus]int {
	out := map[backend.ProvisionStatus]int{}
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		out[r.Status]++
	}
	return out
}
