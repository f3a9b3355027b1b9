package hosting

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/fqdn"
	"github.com/berth-cloud/berth/provider"
)

// remember keeps how a lease is reached, so that nobody who asks waits for an
// engine.
func (h *Hosting) remember(r *row, w *world) {
	if r.Status != backend.ProvisionStatusReady {
		h.forget(r.Lease)
		return
	}
	info := h.describe(r, w)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[r.Lease] = info
}

func (h *Hosting) forget(lease string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, lease)
}

// GetInfo implements backend.Backend.
func (h *Hosting) GetInfo(ctx context.Context, lease string) (*backend.LeaseInfo, error) {
	r, err := h.live(lease)
	if err != nil {
		return nil, err
	}
	if r.Status != backend.ProvisionStatusReady {
		return nil, fmt.Errorf("lease %s is %s: %w", lease, r.Status, backend.ErrNotProvisioned)
	}
	h.mu.Lock()
	info := h.seen[lease]
	h.mu.Unlock()
	if info == nil { // it was not looked at yet
		w, err := h.observe(ctx, r, false)
		if err != nil {
			return nil, err
		}
		info = h.describe(r, w)
	}
	return h.withDomains(r, info), nil
}

// describe makes of what was observed how a lease is reached.
func (h *Hosting) describe(r *row, w *world) *backend.LeaseInfo {
	info := &backend.LeaseInfo{Host: h.host(), Services: map[string]backend.LeaseService{}}
	images := map[string]string{}
	if rel := r.active(); rel != nil {
		images = rel.Images
	}
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		st := w.status[r.Workloads[name].Instance]
		if st == nil {
			continue
		}
		one := backend.LeaseService{Instances: h.instances(name, images[name], st)}
		h.name(r, name, &one)
		info.Services[name] = one
	}
	if len(info.Services) == 1 {
		for _, s := range info.Services {
			info.Instances, info.FQDN = s.Instances, s.FQDN
			if len(s.Instances) > 0 {
				info.Ports = s.Instances[0].Ports
			}
		}
	}
	return info
}

// name gives the instances of a service their names, where it has a port that these
// lead to. That of the first is the service's.
func (h *Hosting) name(r *row, service string, s *backend.LeaseService) {
	g, active := h.cfg.Ingress, r.active()
	if g == nil || g.Wildcard == "" || active == nil || active.Ports[service] == 0 {
		return
	}
	for i := range s.Instances {
		one := &s.Instances[i]
		one.FQDN = fqdn.Host(g.Wildcard, r.Lease, service, one.InstanceIndex, r.item(service).Quantity)
		if one.InstanceIndex == 0 {
			s.FQDN = one.FQDN
		}
	}
}

func (h *Hosting) host() string {
	if h.cfg.Host != "" {
		return h.cfg.Host
	}
	return h.cfg.BindAddress.String()
}

// instances are the containers of a service. Only the ports that are bound on the
// host are a tenant's way in.
func (h *Hosting) instances(service, image string, st *provider.InstanceStatus) []backend.LeaseInstance {
	out := []backend.LeaseInstance{}
	for _, replica := range st.Services[service].Replicas {
		one := backend.LeaseInstance{
			InstanceIndex: replica.Replica, ContainerID: replica.ProviderRef, Image: image, Status: string(replica.State),
			Ports: map[string]backend.PortBinding{},
		}
		for _, e := range st.Endpoints {
			if e.ServiceName != service || e.Replica == nil || *e.Replica != replica.Replica {
				continue
			}
			if host, port, ok := h.bound(e); ok {
				one.Ports[strconv.Itoa(e.Container)+"/"+e.Protocol] = backend.PortBinding{HostIP: host, HostPort: port}
			}
		}
		out = append(out, one)
	}
	return out
}

// bound is where on the host an endpoint is, if it is there: other endpoints are
// addresses of containers.
func (h *Hosting) bound(e provider.Endpoint) (host, port string, ok bool) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return "", "", false
	}
	if host, port, err = net.SplitHostPort(u.Host); err != nil {
		return "", "", false
	}
	addr, err := netip.ParseAddr(host)
	return host, port, e.Public || err == nil && addr == h.cfg.BindAddress
}
