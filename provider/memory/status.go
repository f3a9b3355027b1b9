package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Status implements provider.Provider.
func (p *Provider) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	rec, all, err := p.observe(ctx, instance)
	if err != nil {
		return nil, fmt.Errorf("status of instance %s: %w", instance, err)
	}
	return p.status(rec, all), nil
}

// observe is the record of an instance, or one made of its labels, and its
// containers, probed.
func (p *Provider) observe(ctx context.Context, instance id.ID) (*record, []seen, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	rec, err := p.load(ctx, instance)
	if errors.Is(err, provider.ErrNotFound) {
		all, err := p.look(ctx, instance)
		if err != nil {
			return nil, nil, err
		}
		if rec = fromLabels(all); rec == nil {
			return nil, nil, fmt.Errorf("%w: instance %s", provider.ErrNotFound, instance)
		}
		all, err = p.probed(ctx, rec)
		return rec, all, err
	}
	if err != nil {
		return nil, nil, err
	}
	all, err := p.probed(ctx, rec)
	return rec, all, err
}

// fromLabels is the record that the newest containers speak of.
func fromLabels(all []seen) *record {
	if len(all) == 0 {
		return nil
	}
	newest := all[len(all)-1]
	rel := &release{ID: newest.group.release}
	rec := &record{
		Request:  provider.ProvisionRequest{InstanceID: newest.instance, TenantID: newest.tenant, Name: newest.workload},
		Releases: []*release{rel}, Target: rel.ID, Serving: rel.ID, Turn: newest.group.turn, ServingTurn: newest.group.turn, Stopped: true,
	}
	for _, s := range all {
		if s.group.release != rel.ID || s.group.turn != newest.group.turn {
			continue
		}
		rec.Replicas = max(rec.Replicas, s.group.replica+1)
		if !slices.ContainsFunc(rel.Services, func(o provider.ServiceSpec) bool { return o.Name == s.service }) {
			spec := s.spec
			spec.Resources = s.size
			rel.Services = append(rel.Services, spec)
		}
		if s.state == running {
			rec.Stopped = false
		}
	}
	return rec
}

// status says what was observed.
func (p *Provider) status(rec *record, all []seen) *provider.InstanceStatus {
	shown, turn := rec.Serving, rec.ServingTurn
	if shown.IsNil() {
		shown, turn = rec.Target, rec.Turn
	}
	m := p.members(rec, shown, turn, all)
	st := &provider.InstanceStatus{
		Services: map[string]provider.ServiceStatus{}, Endpoints: []provider.Endpoint{},
		ReleaseID: rec.Serving, TargetReleaseID: rec.Target,
	}
	ready := true
	for _, spec := range m.services {
		s := rec.service(m, spec)
		st.Services[spec.Name] = s
		st.Restarts += s.Restarts
		ready = ready && s.Ready
		for _, r := range s.Replicas {
			if r.StartedAt != nil && r.ExitCode == nil && (st.StartedAt == nil || r.StartedAt.Before(*st.StartedAt)) {
				at := *r.StartedAt
				st.StartedAt = &at
			}
		}
	}
	way := rec.way(rec.services(rec.Target))
	for replica := range m.count() {
		g := m.group(replica)
		st.Available = st.Available || g.ready() && !rec.Serving.IsNil()
		st.Endpoints = append(st.Endpoints, g.endpoints()...)
	}
	if rec.Serving.IsNil() {
		st.Endpoints = st.Endpoints[:0]
	}
	if rec.rolling() && way == provider.StrategyRolling {
		next := p.members(rec, rec.Target, rec.Turn, all)
		for replica := range next.count() {
			if g := next.group(replica); g.ready() {
				st.Available = true
				st.Endpoints = append(st.Endpoints, g.endpoints()...)
			}
		}
	}
	slices.SortStableFunc(st.Endpoints, func(a, b provider.Endpoint) int {
		return cmp.Or(strings.Compare(a.ServiceName, b.ServiceName), a.Port-b.Port, *a.Replica-*b.Replica)
	})
	rec.summarize(st, ready)
	return st
}

// summarize fills in what is about the instance as a whole.
func (r *record) summarize(st *provider.InstanceStatus, ready bool) {
	worst := worstOf(st.Services)
	st.State, st.Reason, st.Message = worst.State, worst.Reason, worst.Message
	switch {
	case r.Removing:
		st.State, st.Reason = provider.StateDestroying, ""
	case r.Stopped && !r.Serving.IsNil():
		st.Reason, st.Message = provider.ReasonStopped, ""
	case r.Failure != nil:
		st.State, st.Reason, st.Message = provider.StateFailed, r.Failure.Reason, r.Failure.Message
		if !r.Serving.IsNil() {
			st.Reason = provider.ReasonRolloutFailed
			st.Message = fmt.Sprintf("release %s failed, release %s serves: %s", r.Target, r.Serving, r.Failure.Error())
		}
	case r.Stopped:
		st.Reason, st.Message = provider.ReasonStopped, ""
	case r.rolling() && !r.Serving.IsNil():
		st.State, st.Reason, st.Message = provider.StateStarting, provider.ReasonRollingOut, "release "+r.Target.String()+" is on its way"
	case r.rolling():
	default:
		st.Ready = ready
	}
	if r.rolling() && st.State == provider.StateRunning {
		st.State, st.Reason = provider.StateStarting, provider.ReasonWaitingForReady
	}
}

// rank orders states from the worst on.
func rank(s provider.InstanceState) int {
	return slices.Index([]provider.InstanceState{
		provider.StateFailed, provider.StateDestroying, provider.StateProvisioning, provider.StateStarting,
		provider.StateStopping, provider.StateStopped, provider.StateRunning,
	}, s)
}

func worstOf(services map[string]provider.ServiceStatus) provider.ServiceStatus {
	worst := provider.ServiceStatus{State: provider.StateRunning}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		s := services[name]
		if s.Ready && s.State == provider.StateStopped {
			continue // an init that ended well
		}
		if rank(s.State) < rank(worst.State) || worst.Reason == "" && s.State == worst.State {
			worst = s
		}
	}
	return worst
}

// service is one service over all replicas.
func (r *record) service(m members, spec provider.ServiceSpec) provider.ServiceStatus {
	out := provider.ServiceStatus{State: provider.StateRunning, Ready: true}
	for replica := range r.Replicas {
		s, there := m.group(replica).find(spec.Name)
		status := r.missing(spec, replica)
		if there {
			status = r.replica(s, spec)
		}
		if replica == 0 {
			out.ProviderRef, out.State, out.Reason, out.Message = status.ProviderRef, status.State, status.Reason, status.Message
		}
		if rank(status.State) < rank(out.State) {
			out.State, out.Reason, out.Message = status.State, status.Reason, status.Message
		}
		out.Ready = out.Ready && status.Ready
		out.Restarts += status.Restarts
		if there {
			out.Replicas = append(out.Replicas, status)
		}
	}
	if f := r.Failure; f != nil && r.Serving.IsNil() && f.Service == spec.Name {
		out.State, out.Reason, out.Message, out.Ready = provider.StateFailed, f.Reason, f.Message, false
	}
	return out
}

// missing is a container that is not there.
func (r *record) missing(spec provider.ServiceSpec, replica int) provider.ReplicaStatus {
	s := provider.ReplicaStatus{Replica: replica, State: provider.StateProvisioning, Reason: provider.ReasonWaitingForDependency}
	switch {
	case r.Stopped:
		s.State, s.Reason = provider.StateStopped, provider.ReasonStopped
	case r.Failure == nil && !r.rolling():
		s.Reason = provider.ReasonMissing
	}
	s.Message = spec.Name + " has not started"
	return s
}

// replica is one container.
func (r *record) replica(s seen, spec provider.ServiceSpec) provider.ReplicaStatus {
	out := provider.ReplicaStatus{Replica: s.group.replica, Restarts: s.restarts, ProviderRef: s.id}
	if s.state != created {
		at := s.startedAt
		out.StartedAt = &at
	}
	if s.state == exited {
		code := s.exit
		out.ExitCode = &code
	}
	switch {
	case s.good(spec):
		out.Ready, out.State = true, provider.StateRunning
		if spec.EffectiveRole() == provider.RoleInit {
			out.State = provider.StateStopped
		}
	case s.waitsFor != "" && !r.Stopped:
		out.State, out.Reason, out.Message = provider.StateStarting, provider.ReasonVolumeInUse, waitsText(s.waitsFor)
	case s.state == created:
		out.State, out.Reason = provider.StateProvisioning, provider.ReasonWaitingForDependency
	case s.state == running && !s.askedAt.IsZero():
		out.State, out.Reason = provider.StateStopping, provider.ReasonStopped
	case s.state == running:
		out.State, out.Reason, out.Message = provider.StateStarting, provider.ReasonWaitingForReady, s.health.problem
		if s.health.was {
			out.Reason = provider.ReasonUnhealthy
		}
	case !s.askedAt.IsZero() && s.failure == "":
		out.State, out.Reason = provider.StateStopped, provider.ReasonStopped
	default:
		r.ended(&out, s, spec)
	}
	return out
}

// ended is a container that ended by itself.
func (r *record) ended(out *provider.ReplicaStatus, s seen, spec provider.ServiceSpec) {
	bad := s.broken(spec)
	out.State, out.Reason, out.Message = provider.StateFailed, bad.Reason, bad.Message
	if r.Failure != nil && r.Serving.IsNil() {
		return
	}
	if !r.Serving.IsNil() { // it is started again
		out.State = provider.StateStarting
		if s.restarts >= loop && out.Reason == provider.ReasonExited {
			out.Reason = provider.ReasonCrashLoop
		}
	}
}

// loop is how many restarts make a crash loop.
const loop = 3

// endpoints are the ways in to a group: to its members that are ready.
func (m members) endpoints() []provider.Endpoint {
	var out []provider.Endpoint
	for _, spec := range m.services {
		s, ok := m.find(spec.Name)
		if !ok || spec.EffectiveRole() == provider.RoleInit || !s.good(spec) {
			continue
		}
		for _, port := range spec.Ports {
			replica := s.group.replica
			ep := provider.Endpoint{
				ServiceName: spec.Name, Port: port.Container, Protocol: cmp.Or(port.Protocol, provider.ProtocolTCP),
				Container: port.Container, Replica: &replica,
			}
			ep.URL = url(port, netip.AddrPortFrom(s.address, uint16(port.Container)))
			out = append(out, ep)
			if at, published := s.host[port.Container]; published {
				ep.Port, ep.URL, ep.Public = int(at.Port()), url(port, at), !at.Addr().IsLoopback()
				ep.Replica = &replica
				out = append(out, ep)
			}
		}
	}
	return out
}

// url is where a port is found.
func url(port provider.PortSpec, at netip.AddrPort) string {
	scheme := "tcp"
	switch port.Protocol {
	case provider.ProtocolHTTP, provider.ProtocolGRPC:
		scheme = "http"
	case provider.ProtocolHTTPS:
		scheme = "https"
	}
	return scheme + "://" + at.Addr().String() + ":" + strconv.Itoa(int(at.Port()))
}
