package hosting

import (
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// origin is what a restart found of a service when it began. By it a Step sees whether
// the provider has begun with the restart already, also when the process that told it
// to was killed before it could note that.
type origin struct {
	// Return says that the service is not at its release: an update failed and could not
	// be taken back. It then goes there, and this is its restart.
	Return bool    `json:"return,omitempty"`
	Stood  []stood `json:"stood,omitempty"`
}

// stood is a container, with when it started: one may be restarted in its place.
type stood struct {
	Ref   string    `json:"ref"`
	Since time.Time `json:"since,omitzero"`
}

// standing are the containers of a workload.
func standing(st *provider.InstanceStatus) []stood {
	if st == nil {
		return nil
	}
	var out []stood
	for _, name := range slices.Sorted(maps.Keys(st.Services)) {
		for _, replica := range st.Services[name].Replicas {
			if replica.ProviderRef == "" {
				continue
			}
			one := stood{Ref: replica.ProviderRef}
			if replica.StartedAt != nil {
				one.Since = replica.StartedAt.UTC()
			}
			out = append(out, one)
		}
	}
	return out
}

// planOrigins notes what a restart begins from. Where a container seems to be missing a
// second look has to agree: one that was overlooked would pass for a new one.
func planOrigins(r *row, w *world) plan {
	p := plan{next: r.clone()}
	op := p.next.Op
	op.From = make(map[string]origin, len(r.Workloads))
	for name, one := range r.Workloads {
		st := w.status[one.Instance]
		o := origin{Return: op.Done[name] || astray(st, one), Stood: standing(st)}
		op.From[name] = o
		p.confirm = p.confirm || len(o.Stood) < r.item(name).Quantity
	}
	return p
}

// astray reports whether a workload is on another release than its own.
func astray(st *provider.InstanceStatus, one workload) bool {
	return st != nil && !st.TargetReleaseID.IsNil() && st.TargetReleaseID != one.Release
}

// wantsRestart reports whether the provider is to be told to restart a service: once, as
// long as it was not, nothing of it is under way, and a container of before stands.
func (o *operation) wantsRestart(service string, st *provider.InstanceStatus) bool {
	if o.Done[service] {
		return false
	}
	if st == nil {
		return true // it says that there is nothing
	}
	if st.Reason == provider.ReasonRollingOut {
		return false
	}
	now := standing(st)
	if from := o.From[service].Stood; len(from) > 0 {
		return anyStands(from, now, sameRef)
	}
	return len(now) == 0
}

// restarted reports whether no container of a service is as it was found.
func (o *operation) restarted(service string, st *provider.InstanceStatus) bool {
	from, now := o.From[service], standing(st)
	if from.Return || !anyStands(from.Stood, now, sameRef) {
		return true
	}
	return o.Done[service] && !anyStands(from.Stood, now, sameRun)
}

func anyStands(before, now []stood, same func(a, b stood) bool) bool {
	return slices.ContainsFunc(before, func(a stood) bool {
		return slices.ContainsFunc(now, func(b stood) bool { return same(a, b) })
	})
}

func sameRef(a, b stood) bool { return a.Ref == b.Ref }
func sameRun(a, b stood) bool { return a.Ref == b.Ref && a.Since.Equal(b.Since) }
