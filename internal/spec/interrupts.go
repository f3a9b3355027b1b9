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

// Handover says why a new release of a service can start only after the old
// one has stopped, or "" when both may run at once.
func Handover(s *Service) string {
	if why := s.exclusiveBecause(); why != "" {
		return why
	}
	if s.Strategy == Recreate {
		return "its strategy is recreate"
	}
	return ""
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// closedPorts are the published ports that clients lose.
func closedPorts(old, new *Service) []Interruption {
	var all []Interruption
	for _, p := range old.Publish {
		i := slices.IndexFunc(new.Publish, func(q PublishedPort) bool { return q.HostPort == p.HostPort })
		port := "the host's port " + strconv.Itoa(p.HostPort)
		switch {
		case i < 0:
			all = append(all, Interruption{InterruptPort, port + " is closed"})
		case p.Public && !new.Publish[i].Public:
			all = append(all, Interruption{InterruptPort, port + " is open on loopback only"})
		case p.Port != new.Publish[i].Port:
			all = append(all, Interruption{InterruptPort, port + " leads to port " + strconv.Itoa(new.Publish[i].Port)})
		}
	}
	return all
}
