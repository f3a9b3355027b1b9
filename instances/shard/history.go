package shard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/hub"
)

// Event is one thing that happened to a machine.
type Event struct {
	At   time.Time
	Kind string // one word
	Text string
	// Times is how often it happened one after another, the last time At.
	Times int
}

// The bounds of what is kept.
const (
	maxHistories = 4096
	maxEvents    = 32
)

// history is what happened to machines since this process began. What has to outlive it
// is in their records.
type history struct {
	mu sync.Mutex
	of map[string][]Event // the newest last
}

// note keeps an event, and lets go of the oldest.
func (h *history) note(instanceID string, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string][]Event{}
	}
	all := h.of[instanceID]
	if n := len(all); n > 0 && all[n-1].Kind == e.Kind && all[n-1].Text == e.Text {
		all[n-1].At = e.At
		all[n-1].Times++
		return
	}
	if len(all) == 0 && len(h.of) >= maxHistories {
		h.forgetOldest()
	}
	e.Times = 1
	if len(all) == maxEvents {
		all = slices.Delete(all, 0, 1)
	}
	h.of[instanceID] = append(all, e)
}

func (h *history) forgetOldest() {
	oldest, at := "", time.Time{}
	for id, all := range h.of {
		if last := all[len(all)-1].At; oldest == "" || last.Before(at) {
			oldest, at = id, last
		}
	}
	delete(h.of, oldest)
}

func (h *history) events(instanceID string) []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.of[instanceID])
}

func (s *Shard) note(instanceID, kind, text string) {
	s.history.note(instanceID, Event{At: s.opts.Now(), Kind: kind, Text: text})
}

// seen is what the hub saw of a machine.
func (s *Shard) seen(ctx context.Context, e hub.Event) {
	id := e.Node.InstanceID
	switch e.Kind {
	case hub.EventHeartbeat:
		return
	case hub.EventMissed:
		if t := s.turn.Load(); t != nil {
			t.engine.Resync()
		}
		return
	case hub.EventConnected:
		s.note(id, "connected", "from "+e.Node.Remote)
	case hub.EventLost:
		s.note(id, "lost", e.Reason)
	case hub.EventNotice:
		s.note(id, "notice", noticeText(e.Node))
	case hub.EventCloned:
		s.note(id, "cloned", e.Reason)
	}
	s.wake(ctx, id)
}

func noticeText(n hub.Node) string {
	if n.Notice == nil || n.Notice.At.IsZero() {
		return "it is going to be taken away"
	}
	return "it is going to be taken away at " + n.Notice.At.UTC().Format(time.RFC3339)
}

// told passes on to the manager what a group does, and keeps what came of it.
type told struct {
	*instances.Manager
	shard *Shard
}

var _ group.Machines = told{}

// CreateInstance implements group.Machines.
func (t told) CreateInstance(ctx context.Context, req instances.CreateInstanceRequest) (*instances.CreateInstanceResponse, error) {
	made, err := t.Manager.CreateInstance(ctx, req)
	var failed *instances.CreateError
	switch {
	case err == nil:
		t.shard.note(made.InstanceID, "made", "the provider has it as "+made.ProviderInstanceID)
	case errors.As(err, &failed) && !errors.Is(err, instances.ErrNotLeader):
		t.shard.note(failed.InstanceID, "not made", failed.Err.Error())
	}
	return made, err
}

// DeleteInstanceFor implements group.Machines.
func (t told) DeleteInstanceFor(ctx context.Context, tenant, instanceID string) error {
	err := t.Manager.DeleteInstanceFor(ctx, tenant, instanceID)
	switch {
	case err == nil:
		t.shard.note(instanceID, "removed", "the provider was told")
		if turn := t.shard.turn.Load(); turn != nil {
			turn.engine.Kick(askKey(instanceID)) // what was asked of it is done
		}
	case !errors.Is(err, instances.ErrNotLeader) && !errors.Is(err, instances.ErrInstanceNotFound):
		t.shard.note(instanceID, "not removed", err.Error())
	}
	return err
}

// noted keeps when a machine is drained.
type noted struct {
	rows
	turn *turn
}

type rows = group.Rows

// StartDrain implements group.Rows.
func (n noted) StartDrain(ctx context.Context, instanceID string, at time.Time) error {
	n.turn.drain(instanceID, at)
	n.turn.shard.note(instanceID, "draining", "what runs on it moves")
	return n.rows.StartDrain(ctx, instanceID, at)
}

// present is a hub's presence for groups whose interval of reports may be another one than
// the agents' heartbeat: a machine that is connected was heard of within that interval,
// for the hub closes what is silent.
type present struct {
	group.Presence
	shard *Shard
}

// Sign implements group.Presence.
func (p present) Sign(instanceID string) (group.Sign, bool) {
	sign, ok := p.Presence.Sign(instanceID)
	conf := p.shard.opts.Loader.Current()
	if !ok || conf == nil {
		return sign, ok
	}
	if latest := p.shard.opts.Now().Add(-conf.Shard.Timings.HealthCheckInterval.Std()); sign.HeardAt.Before(latest) {
		sign.HeardAt = latest
	}
	return sign, true
}

// registrar has the group of a machine looked at as soon as that has registered.
type registrar struct {
	*instances.Manager
	shard *Shard
}

// Register implements registration.Registrar.
func (r registrar) Register(ctx context.Context, req instances.RegisterRequest) (*instances.Registration, error) {
	got, err := r.Manager.Register(ctx, req)
	if err == nil {
		r.shard.wake(ctx, got.InstanceID)
	}
	return got, err
}
