package spec

import (
	"slices"
	"strconv"
)

// InterruptionKind is what an interruption takes away.
type InterruptionKind string

// The kinds of interruption.
const (
	// InterruptHandover: the old containers stop before the new ones start.
	// The data plane holds requests meanwhile.
	InterruptHandover InterruptionKind = "handover"
	// InterruptRoute: requests for a host or path are no longer answered.
	InterruptRoute InterruptionKind = "route"
	// InterruptPort: a published port of the host is closed or leads elsewhere.
	InterruptPort InterruptionKind = "port"
	// InterruptDelete: the service goes.
	InterruptDelete InterruptionKind = "delete"
)

// Interruption is one way in which a change is felt by who uses the service.
type Interruption struct {
	Kind InterruptionKind `json:"kind"`
	Why  string           `json:"why"` // a clause: "the volume data may have one writer only"
}

// Interrupts lists how a change from old to new is felt; nothing when it can be
// carried out under full service. A nil old is a new service, which interrupts
// nothing; a nil new is a deletion. Whoever knows that the image changed though
// the specs did not asks [Handover] of the new one.
func Interrupts(old, new *Service) []Interruption {
	switch {
	case old == nil:
		return nil
	case new == nil:
		return []Interruption{{InterruptDelete, "the service is removed"}}
	}
	var all []Interruption
	if Heaviest(Diff(old, new)) == EffectRoll {
		if why := Handover(new); why != "" {
			all = append(all, Interruption{InterruptHandover, why})
		}
	}
	for _, host := range old.Domains {
		switch {
		case !slices.Contains(new.Domains, host):
			all = append(all, Interruption{InterruptRoute, host + " no longer leads here"})
		case !within(orRoot(old.Path), orRoot(new.Path)):
			all = append(all, Interruption{InterruptRoute, host + orRoot(old.Path) + " becomes " + host + orRoot(new.Path)})
		}
	}
	return append(all, closedPorts(old, new)...)
}

// Handover says why the service is not served for a while when a new release
// takes over: the old one has to stop before. It is "" when enough of one or the
// other runs at any time, and of a service that serves nobody because it runs to
// completion.
func Handover(s *Service) string {
	if s.Completes() {
		return ""
	}
	if why := s.exclusiveBecause(); why != "" {
		return why
	}
	switch _, unavailable := s.RollingBounds(s.Replicas); {
	case s.Strategy == Recreate:
		return "its strategy is recreate"
	case s.Strategy == Rolling && unavailable >= s.Replicas && s.ReplicaExclusive():
		return "the volumes of its only replica may have one writer only"
	case s.Strategy == Rolling && unavailable >= s.Replicas:
		return "max_unavailable lets every replica stop at once"
	}
	return ""
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// closedPorts are the published ports that clients lose. One that the engine
// chooses is another at each release, so nobody can rely on it.
func closedPorts(old, new *Service) []Interruption {
	var all []Interruption
	kept := new.published()
	for _, p := range old.published() {
		if !p.Pinned() {
			continue
		}
		i := slices.IndexFunc(kept, func(q PublishedPort) bool { return q.HostPort == p.HostPort && q.Protocol == p.Protocol })
		port := "the host's port " + p.where()
		switch {
		case i < 0:
			all = append(all, Interruption{InterruptPort, port + " is closed"})
		case p.Public && !kept[i].Public && kept[i].Address == "":
			all = append(all, Interruption{InterruptPort, port + " is open on loopback only"})
		case kept[i].Address != p.Address && kept[i].Address != "":
			all = append(all, Interruption{InterruptPort, port + " is open on " + kept[i].Address + " only"})
		case p.Port != kept[i].Port:
			all = append(all, Interruption{InterruptPort, port + " leads to port " + strconv.Itoa(kept[i].Port)})
		}
	}
	return all
}

// published are the ports that the members open on the host.
func (s *Service) published() []PublishedPort {
	var all []PublishedPort
	for _, m := range s.Members() {
		all = append(all, m.Publish...)
	}
	return all
}
