package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// ErrNotLeading: another server leads, or it is not known yet who does. Whoever leads
// knows the machines.
var ErrNotLeading = errors.New("this server does not lead the shard")

// The statuses of a machine, in the order of its life.
const (
	StatusAsked    = "asked"    // somebody asked for it
	StatusRefused  = "refused"  // and it will not be made
	StatusPending  = "pending"  // the provider was told
	StatusStarting = "starting" // the provider has it, and it has not registered
	StatusReady    = "ready"    // registered, and connected
	StatusSilent   = "silent"   // registered, and not connected
	StatusDraining = "draining" // what runs on it moves
	StatusDeleting = "deleting"
	StatusDeleted  = "deleted"
)

// Machine is a machine as the leader sees it.
type Machine struct {
	ID, Tenant, Group, Template, Type string
	OnDemand                          bool
	Status                            string
	// Reason says why it is not ready, or what is to become of it; may be empty.
	Reason                           string
	Online                           bool
	IPv4, IPv6, Hostname, ProviderID string
	CreatedAt, RegisteredAt, HeardAt time.Time // zero: not yet
	CertExpiresAt                    time.Time
	// Node is how it is connected; nil is that it is not.
	Node *hub.Node
}

// Group is a group as the leader sees it.
type Group struct {
	Tenant, Name, Template string
	Size                   int
	// Absent: it is not in the configuration, and its machines go.
	Absent bool
	// OnDemand are machines beside the size, and not in Machines.
	OnDemand int
	// Machines are those that are there, by their status.
	Machines   map[string]int
	Conditions []reconcile.Condition
	// Error is why the last look at it failed, and Failures how often in a row.
	Error    string
	Failures int
}

// leading is nil when this process leads and has read what there is.
func (s *Shard) leading() error {
	if s.elector == nil || s.turn.Load() != nil {
		return nil
	}
	l, ok := s.Leader()
	switch {
	case ok && l.Self:
		return fmt.Errorf("%w: it has just begun to, and reads what there is", ErrNotLeading)
	case ok && !l.Released:
		return fmt.Errorf("%w: %s does, or did until now", ErrNotLeading, l.Holder)
	}
	return fmt.Errorf("%w: nobody does yet", ErrNotLeading)
}

// Groups are those of the configuration and those with machines, by tenant and name.
// Errors: ErrNotLeading.
func (s *Shard) Groups(ctx context.Context) ([]Group, error) {
	if err := s.leading(); err != nil {
		return nil, err
	}
	rows, err := s.db.Instances(ctx, localdb.Query{})
	if err != nil {
		return nil, err
	}
	all := map[config.GroupKey]*Group{}
	add := func(key config.GroupKey) *Group {
		if all[key] == nil {
			all[key] = s.group(key)
		}
		return all[key]
	}
	if conf := s.opts.Loader.Current(); conf != nil {
		for _, key := range conf.GroupKeys() {
			add(key)
		}
	}
	for i := range rows {
		if rows[i].Group == instances.JoinedGroup {
			continue // hosts that joined are no group's
		}
		g := add(config.GroupKey{Tenant: rows[i].Tenant, Group: rows[i].Group})
		if rows[i].OnDemand {
			g.OnDemand++
			continue
		}
		g.Machines[statusOf(&rows[i], s.Hub.Online(rows[i].ID), !s.drains(rows[i].ID).IsZero())]++
	}
	out := make([]Group, 0, len(all))
	for _, g := range all {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return strings.Compare(a.Tenant+"/"+a.Name, b.Tenant+"/"+b.Name)
	})
	return out, nil
}

// group is what is wanted of a group, and what its controller said last.
func (s *Shard) group(key config.GroupKey) *Group {
	g := &Group{Tenant: key.Tenant, Name: key.Group, Machines: map[string]int{}}
	merged, err := s.opts.Loader.Merge(config.MergeRequest{Tenant: key.Tenant, Group: key.Group})
	switch {
	case errors.Is(err, config.ErrGroupNotFound):
		g.Absent = true
	case err != nil:
		g.Error = err.Error()
	default:
		g.Template, g.Size = merged.Template, merged.Size
	}
	t := s.turn.Load()
	if t == nil {
		return g
	}
	if out, ok := t.engine.Results(group.Key(key.Tenant, key.Group)); ok {
		g.Conditions, g.Failures = out.Conditions, out.Failures
		if out.Err != nil {
			g.Error = out.Err.Error()
		}
	}
	return g
}

// Machines are those there are, hosts that joined among them, the oldest first, and with gone those that were deleted
// lately. Errors: ErrNotLeading.
func (s *Shard) Machines(ctx context.Context, gone bool) ([]Machine, error) {
	if err := s.leading(); err != nil {
		return nil, err
	}
	q := localdb.Query{}
	if gone {
		q.Deleted = localdb.WithDeleted
	}
	rows, err := s.db.Instances(ctx, q)
	if err != nil {
		return nil, err
	}
	asks, err := s.asks(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Machine, 0, len(rows)+len(asks))
	for i := range rows {
		out = append(out, s.machine(&rows[i], asks[rows[i].ID]))
		delete(asks, rows[i].ID)
	}
	for _, id := range slices.Sorted(maps.Keys(asks)) {
		if a := asks[id]; a.Verb == verbCreate {
			out = append(out, asked(a))
		}
	}
	return out, nil
}

// asks are all that is asked, by machine.
func (s *Shard) asks(ctx context.Context) (map[string]*ask, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ids, err := s.askIDs(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]*ask{}
	for _, id := range ids {
		a, err := s.readAsk(ctx, id)
		if errors.Is(err, errAsk) {
			s.log.WarnContext(ctx, "something that is asked is left out", "error", err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if a != nil {
			all[id] = a
		}
	}
	return all, nil
}

// asked is a machine of which there is no record yet.
func asked(a *ask) Machine {
	m := Machine{ID: a.ID, Tenant: a.Tenant, Group: a.Group, OnDemand: a.OnDemand, CreatedAt: a.AskedAt, Status: StatusAsked}
	if a.Refused != "" {
		m.Status, m.Reason = StatusRefused, a.Refused
	}
	return m
}

func (s *Shard) machine(row *localdb.Instance, a *ask) Machine {
	m := Machine{
		ID: row.ID, Tenant: row.Tenant, Group: row.Group, Template: row.Template, Type: row.InstanceType, OnDemand: row.OnDemand,
		IPv4: row.IPv4, IPv6: row.IPv6, Hostname: row.Hostname, ProviderID: row.ProviderID,
		CreatedAt: row.CreatedAt, RegisteredAt: row.RegisteredAt, HeardAt: row.HealthAt, CertExpiresAt: row.CertExpiresAt,
	}
	if n, ok := s.Hub.Node(row.ID); ok {
		m.Node, m.Online, m.HeardAt = &n, true, n.Heartbeat
	}
	since := s.drains(row.ID)
	m.Status = statusOf(row, m.Online, !since.IsZero())
	m.Reason = s.reason(&m, since, a)
	return m
}

// statusOf says where a machine stands by its row.
func statusOf(row *localdb.Instance, online, drains bool) string {
	switch {
	case !row.DeletedAt.IsZero() || row.Status == "deleted":
		return StatusDeleted
	case row.Status == "deleting":
		return StatusDeleting
	case drains:
		return StatusDraining
	case !row.RegisteredAt.IsZero() && online:
		return StatusReady
	case !row.RegisteredAt.IsZero():
		return StatusSilent
	case row.ProviderID != "" || row.Group == instances.JoinedGroup: // no provider made it
		return StatusStarting
	}
	return StatusPending
}

// reason says what a reader of the status asks next.
func (s *Shard) reason(m *Machine, drains time.Time, a *ask) string {
	if m.Status == StatusDeleted {
		return ""
	}
	var all []string
	if m.Node != nil && m.Node.Notice != nil {
		all = append(all, noticeText(*m.Node))
	}
	if a != nil && a.Refused != "" {
		all = append(all, fmt.Sprintf("it was asked to %s: %s", a.Verb, a.Refused))
	} else if a != nil && a.Verb != verbCreate {
		all = append(all, map[verb]string{verbDelete: "somebody asked for its end", verbRotate: "somebody asked for another one in its place"}[a.Verb])
	}
	switch m.Status {
	case StatusSilent:
		all = append(all, "its agent is not connected")
	case StatusDraining:
		all = append(all, "it drains since "+drains.UTC().Format(time.RFC3339))
	case StatusStarting:
		all = append(all, "it has not registered yet")
	case StatusPending:
		all = append(all, "the provider has not said yet that it is there")
	}
	return strings.Join(all, "; ")
}
