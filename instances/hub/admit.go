package hub

import (
	"context"
	"crypto/subtle"
	"fmt"

	"github.com/berth-cloud/berth/instances/wire"
)

// admit makes a session the one of its instance, or says why not. It may take as long as
// a sign of life of the one that stands.
func (h *Hub) admit(s *session, hello *wire.Hello) *wire.Refused {
	instance := s.id.InstanceID
	h.mu.Lock()
	old := h.sessions[instance]
	switch {
	case h.released:
		h.mu.Unlock()
		return &wire.Refused{Code: wire.CodeBusy, Error: releasedText}
	case old == nil && len(h.sessions) >= h.opts.Limits.Machines:
		h.mu.Unlock()
		h.opts.Log.Warn("no room for another machine", "instance", instance, "machines", h.opts.Limits.Machines)
		return &wire.Refused{Code: wire.CodeBusy, Error: "no room for another machine"}
	case h.probing[instance]:
		h.mu.Unlock()
		return &wire.Refused{Code: wire.CodeBusy, Error: "another connection of this instance is being looked at"}
	case old == nil:
		h.enter(s, nil)
		return nil
	case subtle.ConstantTimeCompare([]byte(hello.Resume), []byte(old.token)) == 1:
		h.enter(s, old)
		return nil
	}
	h.probing[instance] = true
	h.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.Background(), h.opts.Timing.Probe)
	alive := old.probe(ctx)
	cancel()

	h.mu.Lock()
	delete(h.probing, instance)
	now := h.sessions[instance]
	switch {
	case now == nil:
		h.enter(s, nil)
		return nil
	case now == old && !alive:
		old.end("another connection of it came, and it gave no sign of life")
		h.depart(old)
		h.enter(s, nil)
		h.logLost(old)
		return nil
	}
	h.mu.Unlock()
	h.cloned(now, s)
	return &wire.Refused{Code: wire.CodeIdentityCloned, Error: "another machine with this identity is connected: this one may be a copy of it"}
}

// enter is called with the lock, and gives it back.
func (h *Hub) enter(s, from *session) {
	h.sessions[s.id.InstanceID] = s
	node := s.snapshot()
	if from != nil {
		before := from.snapshot()
		node.Notice = before.Notice
		s.mu.Lock()
		s.node.Notice = before.Notice
		s.mu.Unlock()
		from.retire()
	}
	// Within the lock, so that what comes and goes is told in its order.
	h.subs.publish(Event{Kind: EventConnected, At: node.Connected, Node: node})
	h.mu.Unlock()
	h.opts.Log.Info("a machine is connected", "instance", node.InstanceID, "remote", node.Remote, "boot_id", node.BootID, "version", node.Version, "renewed", from != nil)
}

// depart takes a session off that nobody took over from. It is called with the lock.
func (h *Hub) depart(s *session) bool {
	if h.sessions[s.id.InstanceID] != s {
		return false
	}
	delete(h.sessions, s.id.InstanceID)
	close(s.lost)
	s.mu.Lock()
	node, reason := s.node, s.reason
	s.mu.Unlock()
	h.subs.publish(Event{Kind: EventLost, At: h.opts.Now(), Node: node, Reason: reason})
	return true
}

func (h *Hub) logLost(s *session) {
	s.mu.Lock()
	node, reason := s.node, s.reason
	s.mu.Unlock()
	h.opts.Log.Warn("a machine's connection is lost", "instance", node.InstanceID, "remote", node.Remote, "reason", reason)
}

// remove is what the end of a session does.
func (h *Hub) remove(s *session, reason string) {
	s.mu.Lock()
	s.reason = reason
	s.mu.Unlock()
	h.mu.Lock()
	was := h.depart(s)
	h.mu.Unlock()
	if was {
		h.logLost(s)
	}
}

// cloned tells of a copy. The agent asks again only after minutes.
func (h *Hub) cloned(stays, other *session) {
	first, second := stays.snapshot(), other.snapshot()
	reason := fmt.Sprintf("refused: %s from %s, boot id %s, certificate %s", second.InstanceID, second.Remote, second.BootID, second.Serial)
	h.opts.Log.Error("two machines have one identity; the one that came second is refused", "instance", first.InstanceID,
		"first", first.Remote, "first_boot_id", first.BootID, "second", second.Remote, "second_boot_id", second.BootID)
	h.subs.publish(Event{Kind: EventCloned, At: h.opts.Now(), Node: first, Reason: reason})
}
