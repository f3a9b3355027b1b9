package hosting

import (
	"cmp"

	"github.com/berth-cloud/berth/backend"
)

// claim is who wants a custom domain.
type claim struct {
	lease, service string
	// rank is how far it has come: 0 has it, 1 is on its way to the data plane, 2 waits.
	rank  int
	since int64
}

// before reports whether a claim goes before another one on the same domain: the one
// that has come further, of two the older, and the lesser name where that is equal.
func (c claim) before(o claim) bool {
	return cmp.Or(cmp.Compare(c.rank, o.rank), cmp.Compare(c.since, o.since), cmp.Compare(c.lease, o.lease), cmp.Compare(c.service, o.service)) < 0
}

// claims is who gets each domain.
type claims map[string]claim

// claimsOf depends on nothing but the rows.
func claimsOf(rows []*row) claims {
	out := claims{}
	for _, r := range rows {
		if r.Gone || r.Status == backend.ProvisionStatusDeprovisioning {
			continue
		}
		for _, item := range r.Items {
			out.add(item.CustomDomain, claim{lease: r.Lease, service: item.ServiceName})
		}
		for service, w := range r.Names.Wishes {
			c := claim{r.Lease, service, 2, w.Since.UnixNano()}
			switch {
			case w.State == wishRouting:
				c.rank = 1
			case w.State != wishWaits, r.Status == backend.ProvisionStatusFailed: // that keeps nobody out
				continue
			}
			out.add(w.Domain, c)
		}
	}
	return out
}

func (c claims) add(domain string, one claim) {
	if domain == "" {
		return
	}
	if have, taken := c[domain]; !taken || one.before(have) {
		c[domain] = one
	}
}

// owns reports whether a domain is a service's.
func (c claims) owns(domain, lease, service string) bool {
	have, taken := c[domain]
	return taken && have.lease == lease && have.service == service
}
