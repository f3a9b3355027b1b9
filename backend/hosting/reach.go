package hosting

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// reached is the row with the instances that take requests now; nil when it has them.
func (h *Hosting) reached(r *row, w *world) *row {
	if h.cfg.Ingress == nil || len(r.Old) > 0 || len(w.status) < len(r.Workloads) {
		return nil
	}
	var now map[string][]seen
	for service, one := range r.Workloads {
		list := h.instancesOf(r, service, w.status[one.Instance])
		if len(list) == 0 {
			continue
		}
		if now == nil {
			now = map[string][]seen{}
		}
		now[service] = list
	}
	machine := h.cfg.Ingress.Machine
	if now == nil {
		machine = ""
	}
	if reflect.DeepEqual(now, r.Names.Seen) && machine == r.Names.Machine {
		return nil
	}
	next := r.clone()
	next.Names.Seen, next.Names.Machine = now, machine
	return next
}

// unseen reports whether an instance is not there any more that took requests: a second
// look has to agree, as nobody tells of one that was overlooked.
func (h *Hosting) unseen(r *row, w *world) bool {
	next := h.reached(r, w)
	if next == nil {
		return false
	}
	for service, before := range r.Names.Seen {
		for _, one := range before {
			if !slices.Contains(next.Names.Seen[service], one) {
				return true
			}
		}
	}
	return false
}

// instancesOf are the instances of a service that take requests.
func (h *Hosting) instancesOf(r *row, service string, st *provider.InstanceStatus) []seen {
	if st == nil {
		return nil
	}
	ports := r.routePorts(service)
	if r.Workloads[service].Before == st.ReleaseID {
		slices.Reverse(ports) // the one that is to come does not serve yet
	}
	var out []seen
	had := map[int]bool{} // by replica
	for _, port := range ports {
		found := map[int]bool{}
		for _, e := range st.Endpoints {
			if e.ServiceName != service || e.Container != port || e.Protocol == provider.ProtocolUDP || e.Replica == nil || had[*e.Replica] {
				continue
			}
			if at, ok := h.inside(e); ok {
				out = append(out, seen{*e.Replica, at.String()})
				found[*e.Replica] = true
			}
		}
		for replica := range found {
			had[replica] = true
		}
	}
	slices.SortFunc(out, func(a, b seen) int {
		return cmp.Or(cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Address, b.Address))
	})
	return slices.Compact(out)
}

// inside is the instance's own address, where an endpoint is one.
func (h *Hosting) inside(e provider.Endpoint) (netip.AddrPort, bool) {
	if _, _, bound := h.bound(e); bound || e.Port != e.Container {
		return netip.AddrPort{}, false
	}
	u, err := url.Parse(e.URL)
	if err != nil {
		return netip.AddrPort{}, false
	}
	at, err := netip.ParseAddrPort(net.JoinHostPort(u.Hostname(), strconv.Itoa(e.Container)))
	return at, err == nil && !at.Addr().IsUnspecified()
}

// depart waits until nothing is sent to a lease any more, before what it was sent to
// goes. It does not wait for ever: nobody keeps what was given up because a data plane
// does not answer.
func (h *Hosting) depart(ctx context.Context, k kept) (time.Duration, error) {
	r, now, next := k.row, h.cfg.Now(), k.row.clone()
	late := !r.Names.LeaveBy.IsZero() && !now.Before(r.Names.LeaveBy)
	switch {
	case h.cfg.Ingress == nil, h.cfg.Ingress.Router.Left(r.Lease), late:
		if late {
			h.cfg.Logger.WarnContext(ctx, "a lease goes though requests may still be sent to it", "lease", r.Lease)
		}
		next.Names.Leaving, next.Names.LeaveBy = false, time.Time{}
	case r.Names.LeaveBy.IsZero():
		next.Names.LeaveBy = now.Add(h.cfg.Timing.Leave)
	default:
		return min(h.cfg.Timing.Recheck, r.Names.LeaveBy.Sub(now)), nil
	}
	return soon, h.write(ctx, next, k)
}
