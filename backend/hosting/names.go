package hosting

import (
	"maps"
	"time"
)

// names is what a row has of names and of the ways to its instances.
type names struct {
	// Wishes are the custom domains that are asked for, by service. The one that a
	// service has is in the row's Items.
	Wishes map[string]wish `json:"wishes,omitempty"`
	// Seen are the instances that take requests, by service, as of the last look.
	Seen map[string][]seen `json:"seen,omitempty"`
	// Machine is where they were seen; see Ingress.
	Machine string `json:"machine,omitempty"`
	// Leaving says that the routes have to be gone before anything that they led to.
	Leaving bool `json:"leaving,omitempty"`
	// LeaveBy is when that is not waited for any more.
	LeaveBy time.Time `json:"leave_by,omitzero"`
}

// seen is one instance. The list of a row is never changed in place.
type seen struct {
	Replica int    `json:"replica"`
	Address string `json:"address"` // with its port
}

// wishState is how far a domain is that is asked for.
type wishState string

const (
	wishWaits   wishState = "waits"   // to resolve
	wishRouting wishState = "routing" // resolves, and is on its way to the data plane
	wishRefused wishState = "refused" // is one no more; what stands is why
)

// wish is a custom domain that is asked for.
type wish struct {
	Domain string    `json:"domain"`
	State  wishState `json:"state"`
	Since  time.Time `json:"since"`
	// Again is when a wish that waits is looked at again, and until when one that was
	// refused is not taken anew.
	Again time.Time `json:"again,omitzero"`
	Tries int       `json:"tries,omitempty"`
	// Why it is not there yet, in words that are fit for the tenant.
	Why string `json:"why,omitempty"`
}

// live reports whether the wish still is one.
func (w wish) live() bool { return w.State == wishWaits || w.State == wishRouting }

func (n names) clone() names {
	n.Wishes, n.Seen = maps.Clone(n.Wishes), maps.Clone(n.Seen)
	return n
}

// leave has the routes go before the instances do.
func (n *names) leave() {
	n.Leaving = n.Leaving || len(n.Seen) > 0
	n.Seen = nil
}

func (n *names) wish(service string, w wish) {
	if n.Wishes == nil {
		n.Wishes = map[string]wish{}
	}
	n.Wishes[service] = w
}

// eachDomain calls fn for all domains that a lease has or wishes for.
func (r *row) eachDomain(fn func(domain string)) {
	for _, item := range r.Items {
		if item.CustomDomain != "" {
			fn(item.CustomDomain)
		}
	}
	for _, w := range r.Names.Wishes {
		fn(w.Domain)
	}
}
