package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/localdb"
)

// maxLooks bounds how often the provider is asked in one pass.
const maxLooks = 16

// want is what the group is to be. An error is that it is not known, and never that
// there is no such group.
func (c *controller) want(conf *config.Config) (Want, error) {
	merged, err := c.g.opts.Configs.Merge(config.MergeRequest{Tenant: c.key.Tenant, Group: c.key.Group})
	if errors.Is(err, config.ErrGroupNotFound) {
		return Want{Absent: true, DrainTimeout: conf.Shard.Timings.DefaultDrainTimeout.Std()}, nil
	}
	if err != nil {
		return Want{}, err
	}
	return Want{Size: merged.Size, Hash: merged.InfraHash, DrainTimeout: merged.DrainTimeout.Std()}, nil
}

func timingOf(conf *config.Config) Timing {
	t, gc, age := conf.Shard.Timings, conf.Shard.GC, conf.Shard.Expiry
	timing := Timing{
		Health: t.HealthCheckInterval.Std(), Launch: t.LaunchTimeout.Std(), Retry: t.RetryMin.Std(),
		EligibleAge: age.EligibleAge.Std(), ForcedAge: age.ForcedAge.Std(), OnDemandAge: age.OnDemandAge.Std(),
	}
	if gc.RegistrationTimeout > 0 {
		// As the manager counts: the token's slack, and that of whoever reads it.
		timing.Registration = gc.RegistrationTimeout.Std() + 2*t.ClockSkew.Std()
	}
	return timing
}

// observe gathers what is known. It has no effect on anything but this process's memory.
func (c *controller) observe(ctx context.Context, want Want, timing Timing) (*Observed, error) {
	rows, err := c.g.opts.Rows.Instances(ctx, localdb.Query{Tenant: c.key.Tenant, Group: c.key.Group})
	if err != nil {
		return nil, fmt.Errorf("observe group %s of %s: %w", c.key.Group, c.key.Tenant, err)
	}
	o := &Observed{Now: c.now, Since: c.g.opts.Since, Want: want, Timing: timing}
	known := make(map[string]bool, len(rows))
	for i := range rows {
		known[rows[i].ID] = true
		o.Members = append(o.Members, c.member(&rows[i]))
	}
	c.memory.keep(known)
	o.Members = append(o.Members, c.missing(ctx, known)...)
	c.look(ctx, o)
	for i := range o.Members {
		m := &o.Members[i]
		if !m.OnDemand {
			c.memory.registered(m.RegisteredAt)
		}
		if m.draining() {
			m.Drained = c.drained(ctx, m)
		}
	}
	o.Launch = c.memory.launch
	return o, nil
}

// member is a machine by its row, and by its signs of life.
func (c *controller) member(row *localdb.Instance) Member {
	m := Member{
		ID: row.ID, OnDemand: row.OnDemand, CreatedAt: row.CreatedAt, RegisteredAt: row.RegisteredAt,
		HeardAt: row.HealthAt, Named: row.ProviderID != "", Hash: row.InfraConfigHash,
		DrainingSince: c.memory.drains[row.ID], Asked: c.g.isAsked(row.ID),
		RetryAt: c.memory.removals[row.ID].due, Provider: infra.ParseStatus(row.Status),
	}
	now, ok := c.g.opts.Presence.Sign(row.ID)
	last, had := c.memory.signs[row.ID]
	switch {
	case ok && (now.Noticed || !last.Noticed):
		last = sign{Sign: now}
	case ok:
		last.HeardAt, last.lostAt = now.HeardAt, time.Time{}
	case had && last.lostAt.IsZero():
		last.lostAt = c.now // somewhere between two passes; it gets its time from here
	}
	if ok || had {
		c.memory.signs[row.ID] = last
	}
	if last.HeardAt.After(m.HeardAt) {
		m.HeardAt = last.HeardAt
	}
	m.LostAt, m.Noticed, m.NoticeAt = last.lostAt, last.Noticed, last.NoticeAt
	return m
}

// missing are machines that this process made and of which there is no row: the cache is
// no truth, and one that could not be written must not make another machine.
func (c *controller) missing(ctx context.Context, known map[string]bool) []Member {
	var all []Member
	away := false
	for id, at := range c.memory.expected {
		if known[id] {
			delete(c.memory.expected, id)
			continue
		}
		m := Member{ID: id, CreatedAt: at, Unclear: true}
		if away {
			all = append(all, m)
			continue
		}
		status, err := c.g.opts.Machines.GetInstanceStatusFor(ctx, c.key.Tenant, id)
		switch {
		case errors.Is(err, instances.ErrInstanceNotFound), err == nil && status.State.Leaving():
			delete(c.memory.expected, id)
			continue
		case err == nil:
			m.CreatedAt = status.CreatedAt
			if status.RegisteredAt != nil {
				m.RegisteredAt = *status.RegisteredAt
			}
		default:
			away = true
		}
		all = append(all, m)
	}
	return all
}

// look asks the provider about machines that give cause to. The cached status of one
// that gives none is not taken for more than it is: a cause to ask.
func (c *controller) look(ctx context.Context, o *Observed) {
	var ask []*Member
	leaves := map[string]bool{}
	for i := range o.Members {
		m := &o.Members[i]
		if m.Unclear {
			continue
		}
		said := m.Provider
		m.Provider = ""
		if said.Unhealthy() || o.suspicious(m) || o.overdue(m) {
			ask = append(ask, m)
			leaves[m.ID] = said.Leaving()
		}
	}
	slices.SortStableFunc(ask, func(a, b *Member) int {
		return c.memory.looks[a.ID].at.Compare(c.memory.looks[b.ID].at)
	})
	away := false
	for n, m := range ask {
		if n < maxLooks && !away && ctx.Err() == nil {
			away = c.ask(ctx, o, m) != nil // the next pass begins with the others
		}
		c.believe(o, m)
		if leaves[m.ID] && c.memory.looks[m.ID].status == nil {
			o.Blind = true
		}
	}
	o.Members = slices.DeleteFunc(o.Members, func(m Member) bool {
		last := c.memory.looks[m.ID]
		return last.status != nil && last.status.State == instances.StateDeleted // its row is late
	})
}

// ask looks a machine up, unless that was just done.
func (c *controller) ask(ctx context.Context, o *Observed, m *Member) error {
	last := c.memory.looks[m.ID]
	if last.status != nil && !last.status.State.Leaving() && c.now.Sub(last.at) < o.Timing.Retry {
		return nil
	}
	status, err := c.g.opts.Machines.GetInstanceStatusFor(ctx, c.key.Tenant, m.ID)
	next := look{at: c.now, gone: last.gone}
	switch {
	case errors.Is(err, instances.ErrInstanceNotFound):
		// Its record is gone: it was deleted and forgotten, and the row is late.
		next.status, err = &instances.InstanceStatus{State: instances.StateDeleted}, nil
	case err != nil:
		c.log.WarnContext(ctx, "a machine could not be looked up; nothing is concluded", "instance", m.ID, "error", err)
		next.status, next.twice = last.status, last.twice
	default:
		next.status = status
		if !infra.Status(status.Status).Gone() {
			next.gone, next.twice = time.Time{}, false
			break
		}
		if next.gone.IsZero() {
			next.gone = c.now
		}
		next.twice = c.now.Sub(next.gone) >= o.Timing.Retry
	}
	c.memory.looks[m.ID] = next
	return err
}

// believe takes from a look what may be taken. That a machine is gone counts when it was
// said twice, and its agent was not heard of meanwhile.
func (c *controller) believe(o *Observed, m *Member) {
	last := c.memory.looks[m.ID]
	if last.status == nil {
		return
	}
	if m.Leaving = last.status.State.Leaving(); m.Leaving {
		return
	}
	m.Unregistered = last.status.RegisteredAt == nil
	if !m.Unregistered && m.RegisteredAt.IsZero() {
		m.RegisteredAt = *last.status.RegisteredAt
	}
	m.Provider = infra.ParseStatus(last.status.Status)
	if m.Provider.Gone() {
		m.Provider = ""
		m.Gone = last.twice && m.Named && !o.heard(m)
	}
}

// drained reports whether a machine that drains is empty.
func (c *controller) drained(ctx context.Context, m *Member) bool {
	if c.g.opts.Drainer == nil {
		return true
	}
	ok, err := c.g.opts.Drainer.Drained(ctx, m.ID)
	if err != nil {
		c.log.WarnContext(ctx, "it is not known whether a machine is drained", "instance", m.ID, "error", err)
	}
	return ok && err == nil
}

// hold asks what would be lost with machines.
func (c *controller) hold(ctx context.Context, o *Observed, ids []string) {
	for i := range o.Members {
		m := &o.Members[i]
		if !slices.Contains(ids, m.ID) {
			continue
		}
		reason := ""
		if c.g.opts.Holder != nil {
			var err error
			reason, err = c.g.opts.Holder.Holds(ctx, m.ID)
			if err != nil {
				c.log.WarnContext(ctx, "it is not known whether a machine holds anything", "instance", m.ID, "error", err)
				reason = "it is not known whether it holds anything"
			}
		}
		m.Held = &reason
	}
}
