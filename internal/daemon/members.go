package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/fleet"
)

// members are the machines that joined, in memory: what the shard's cache and its hub
// showed last. A machine is a node from its registration on.
type members struct {
	hub *hub.Hub
	log *slog.Logger
	now func() time.Time
	// list are all machines, those that were deleted lately too; node is one as it is
	// connected, record what is kept of one.
	list   func(ctx context.Context) ([]shard.Machine, error)
	node   func(id string) (hub.Node, bool)
	record func(ctx context.Context, tenant, id string) (*instances.InstanceRecord, error)
	// mentioned are the nodes that something is kept of: one of these that is not among
	// the machines any more is gone.
	mentioned func(ctx context.Context) ([]string, error)
	// changed is told of nodes that came, went, or are no more.
	changed func(ids ...string)

	poked chan struct{} // holds one

	joined map[string]*instances.InstanceRecord // of hosts; neither name nor labels change

	mu      sync.Mutex
	all     map[string]fleet.Member
	engines map[string]*engine.Client
}

var _ fleet.Members = (*members)(nil)

func newMembers(s *shard.Shard, log *slog.Logger) *members {
	return &members{
		hub: s.Hub, log: log, now: time.Now, node: s.Hub.Node, record: s.Manager.Record,
		list:  func(ctx context.Context) ([]shard.Machine, error) { return s.Machines(ctx, true) },
		poked: make(chan struct{}, 1), joined: map[string]*instances.InstanceRecord{},
		all: map[string]fleet.Member{}, engines: map[string]*engine.Client{},
	}
}

// poke has the machines looked at: one has come to be one that goes.
func (m *members) poke() {
	select {
	case m.poked <- struct{}{}:
	default: // whoever looks next sees this one too
	}
}

// membersEvery is the time between two looks that nothing asked for.
const membersEvery = 15 * time.Second

// run follows the machines until ctx is done.
func (m *members) run(ctx context.Context) error {
	events := m.hub.Subscribe(256)
	defer events.Close()
	tick := time.NewTicker(membersEvery)
	defer tick.Stop()
	failing := false
	for {
		err := m.look(ctx)
		if err != nil && ctx.Err() == nil && !failing && !errors.Is(err, shard.ErrNotLeading) {
			m.log.WarnContext(ctx, "which machines there are is not known; it is read again and again", "error", err)
		}
		failing = err != nil
		if !m.wait(ctx, events, tick.C) {
			return nil
		}
	}
}

// wait ends when there is a reason to look; false when ctx is done.
func (m *members) wait(ctx context.Context, events *hub.Subscription, tick <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
			return true
		case <-m.poked:
			return true
		case e := <-events.Events():
			if e.Kind != hub.EventHeartbeat {
				return true
			}
		}
	}
}

// look reads the machines, and tells of those that changed. While this server does not
// lead, only who is connected is known.
func (m *members) look(ctx context.Context) error {
	listed, err := m.list(ctx)
	var mentioned []string
	if err == nil {
		mentioned, err = m.mentioned(ctx)
	}
	if err == nil {
		err = m.readJoined(ctx, listed)
	}
	m.mu.Lock()
	before := maps.Clone(m.all)
	if err == nil {
		m.take(listed, mentioned)
	}
	for id, member := range m.all {
		m.all[id] = m.connected(member, before[id])
	}
	var changed []string
	for id, now := range m.all {
		if was, ok := before[id]; !ok || was.Online != now.Online || was.Gone != now.Gone {
			changed = append(changed, id)
		}
	}
	var over []*engine.Client
	for id, client := range m.engines {
		if m.all[id].Gone {
			over = append(over, client)
			delete(m.engines, id)
		}
	}
	m.mu.Unlock()
	for _, client := range over {
		_ = client.Close()
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		m.changed(changed...)
	}
	return err
}

// readJoined reads the records of hosts that joined, once each.
func (m *members) readJoined(ctx context.Context, listed []shard.Machine) error {
	for i := range listed {
		one := &listed[i]
		if one.Group != instances.JoinedGroup || one.RegisteredAt.IsZero() || m.joined[one.ID] != nil {
			continue
		}
		r, err := m.host(ctx, one)
		if err != nil {
			return err
		}
		if r != nil {
			m.joined[one.ID] = r
		}
	}
	return nil
}

// host is the record of a host that joined, or is to; nil: there is none any more.
func (m *members) host(ctx context.Context, one *shard.Machine) (*instances.InstanceRecord, error) {
	r, err := m.record(ctx, one.Tenant, one.ID)
	switch {
	case errors.Is(err, instances.ErrInstanceNotFound) || err == nil && r.Joined == nil:
		return nil, nil //nolint:nilnil // it is none
	case err != nil:
		return nil, err
	}
	return r, nil
}

// labelsOf are those that a host was given.
func labelsOf(r *instances.InstanceRecord) map[string]string {
	labels := maps.Clone(r.Tags)
	delete(labels, instances.TagName)
	return labels
}

// take puts what was listed in place of what was known. The list is whole: a server
// leads only once it has read every record.
func (m *members) take(listed []shard.Machine, mentioned []string) {
	all := map[string]fleet.Member{}
	for i := range listed {
		one := &listed[i]
		if one.RegisteredAt.IsZero() {
			continue
		}
		member := fleet.Member{
			ID: one.ID, Gone: one.Status == shard.StatusDeleting || one.Status == shard.StatusDeleted,
			Labels: map[string]string{"tenant": one.Tenant, "group": one.Group, "template": one.Template}, Since: one.HeardAt,
		}
		if host := m.joined[one.ID]; host != nil {
			member.Name, member.Labels = host.Joined.Name, labelsOf(host)
		}
		all[one.ID] = member
	}
	for _, id := range mentioned {
		if _, ok := all[id]; !ok && id != "" {
			all[id] = fleet.Member{ID: id, Gone: true}
		}
	}
	m.all = all
}

// backWithin is how long an agent takes at most to find its way back to a control plane that
// was away for a moment: it looks for it at least once a heartbeat, of ten seconds or less.
const backWithin = 20 * time.Second

// connected is a member as the hub sees it.
func (m *members) connected(now, was fleet.Member) fleet.Member {
	node, ok := m.node(now.ID)
	return connected(now, was, node, ok, m.now())
}

// connected is a member that was seen like that before, with the id "" if it never was.
func connected(now, was fleet.Member, node hub.Node, ok bool, at time.Time) fleet.Member {
	now.Online, now.BackBy = ok && !now.Gone, time.Time{}
	switch {
	case ok:
		now.Since = node.Connected
	case was.ID != "" && !was.Online:
		now.Since, now.BackBy = was.Since, was.BackBy
	case was.ID != "":
		now.Since, now.BackBy = at, at.Add(backWithin)
	default:
		now.BackBy = at.Add(backWithin)
	}
	return now
}

// Members implements fleet.Members.
func (m *members) Members() []fleet.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.all))
}

// Engine implements fleet.Members.
func (m *members) Engine(id string) (docker.Runtime, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if one, ok := m.all[id]; !ok || one.Gone {
		return nil, fmt.Errorf("machine %s has not joined, or is gone", id)
	}
	if client := m.engines[id]; client != nil {
		return client, nil
	}
	dial := m.hub.Dialer(id, wire.KindEngine)
	client, err := engine.New(engine.Options{
		Host: id, Logger: m.log,
		Dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") },
	})
	if err != nil {
		return nil, err
	}
	m.engines[id] = client
	return client, nil
}

// Dial implements fleet.Members.
func (m *members) Dial(ctx context.Context, id, address string) (net.Conn, error) {
	return m.hub.Dial(ctx, id, wire.KindAddress, address)
}

// close gives up the connections.
func (m *members) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, client := range m.engines {
		_ = client.Close()
		delete(m.engines, id)
	}
}
