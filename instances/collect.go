package instances

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// CollectReport counts what a pass found and did.
type CollectReport struct {
	Records, Machines int
	// Adopted had a machine that their record did not know.
	Adopted int
	// Abandoned were not there at their launch deadline, Unregistered not registered
	// when their token ended, Vanished gone without anybody asking.
	Abandoned, Unregistered, Vanished int
	// Orphans are machines of this shard that no record knows, and were removed.
	Orphans int
	// Continued are deletions that went on, Forgotten records whose retention is over.
	Continued, Forgotten int
	// Left would have been removed, had the pass not reached its cap.
	Left int
}

// Collect compares what the provider has with what the records say, once, and puts
// right what differs. Whoever leads calls it every gc.interval.
//
// A machine is removed that a record says is to go, that did not register while its
// token lived, or that is this shard's and older than gc.min_age, and has had no record
// in two passes one after another. A record is closed when its create was not done at
// the launch deadline and the provider knows of no machine, or when its machine stood in
// no list and was not found by its id in two passes, nor its agent connected. Of what
// nobody asked for it removes at most gc.max_deletes in a pass.
//
// When records or machines cannot be read, all of them, it does nothing and returns the
// error. Failures with single ones are returned together, and the others are looked at,
// unless the provider asks for fewer calls: then the pass ends, and infra.RetryAfter may
// say when to come back.
func (m *Manager) Collect(ctx context.Context) (CollectReport, error) {
	if _, err := m.term(); err != nil {
		return CollectReport{}, err
	}
	if m.cacheLost.Load() {
		if err := m.RebuildCache(ctx); err != nil {
			m.opts.Logger.WarnContext(ctx, "the cache of instances was lost and could not be filled anew; it is tried again", "error", err)
		}
	}
	// Machines before records: a machine in the list has had its record before.
	machines, err := infra.ListAll(ctx, m.opts.Provider, m.owner)
	if err != nil {
		return CollectReport{}, fmt.Errorf("collect: %w", err)
	}
	records, err := m.records(ctx)
	if err != nil {
		return CollectReport{}, fmt.Errorf("collect: %w", err)
	}
	p := &pass{
		m: m, misses: m.misses.begin(), budget: m.conf().Shard.GC.MaxDeletes,
		listed: map[string][]infra.Instance{}, known: map[string]bool{},
		report: CollectReport{Records: len(records), Machines: len(machines)},
	}
	for _, one := range machines {
		p.listed[one.InstanceID] = append(p.listed[one.InstanceID], one)
	}
	for _, s := range records {
		p.known[s.record.InstanceID] = true
		p.try(ctx, s.record.InstanceID, func() error { return p.record(ctx, s) })
	}
	for _, one := range machines {
		if !p.known[one.InstanceID] {
			p.try(ctx, one.InstanceID, func() error { return p.orphan(ctx, one) })
		}
	}
	if ctx.Err() == nil {
		p.try(ctx, "", func() error { return m.pardon(ctx) })
		p.try(ctx, "", func() error { return m.sweepClaims(ctx, records) })
		p.try(ctx, "", func() error { return m.sweepNames(ctx, records) })
	}
	if ctx.Err() != nil {
		return p.report, fmt.Errorf("collect: %w", ctx.Err())
	}
	if !p.stopped {
		m.misses.end(p.misses)
	}
	return p.report, errors.Join(p.errs...)
}

// pass is one run of Collect.
type pass struct {
	m      *Manager
	misses *passMisses
	budget int
	listed map[string][]infra.Instance // by instance id
	known  map[string]bool
	report CollectReport
	errs   []error
	// stopped ends the pass early; what it missed does not count then.
	stopped bool
}

// maxErrors bounds those that a pass returns.
const maxErrors = 20

func (p *pass) try(ctx context.Context, instanceID string, f func() error) {
	if ctx.Err() != nil || p.stopped {
		return
	}
	err := f()
	if err == nil {
		return
	}
	// To go on asking a provider that asks for fewer calls makes it worse.
	p.stopped = errors.Is(err, infra.ErrThrottled) || errors.Is(err, ErrNotLeader)
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, fmt.Errorf("collect %s: %w", instanceID, err))
	}
}

// spend reports whether one more may be removed that nobody asked for.
func (p *pass) spend() bool {
	if p.budget <= 0 {
		p.report.Left++
		return false
	}
	p.budget--
	return true
}

func (p *pass) record(ctx context.Context, s stored) error {
	switch s.record.State {
	case StateDeleted:
		return p.deleted(ctx, s)
	case StateDeleting:
		p.report.Continued++
		return p.m.deleteFor(ctx, s.record.Tenant, s.record.InstanceID, "", nil)
	case StatePending:
		return p.pending(ctx, s.record)
	}
	if s.record.Joined != nil {
		return p.joined(ctx, s.record)
	}
	if gone, err := p.unregistered(ctx, s.record); gone || err != nil {
		return err
	}
	return p.living(ctx, s.record)
}

// deleted removes a machine that came or came back late, and forgets the record at the
// end of its retention.
func (p *pass) deleted(ctx context.Context, s stored) error {
	r, m := s.record, p.m
	over := r.DeletedAt == nil || !m.now().Before(r.DeletedAt.Add(m.conf().Shard.GC.DeletedRecordRetention.Std()))
	if len(p.listed[r.InstanceID]) == 0 && !over {
		return nil
	}
	release, err := m.busy.take(ctx, r.InstanceID)
	if err != nil {
		return err
	}
	defer release()
	gone, err := m.removeMachine(ctx, r)
	if err != nil || !gone || !over {
		return err
	}
	p.report.Forgotten++
	return m.forget(ctx, r, s.tag)
}

// pending finds out what became of a create.
func (p *pass) pending(ctx context.Context, r *InstanceRecord) error {
	m := p.m
	found, err := m.lookUp(ctx, r.InstanceID, "")
	if err != nil && !infra.IsNotFound(err) {
		return err
	}
	if err == nil && isOf(found, r.Intent.Digest) && !found.Status.Leaving() {
		p.report.Adopted++
		_, err := m.adopt(ctx, r.Tenant, found)
		return err
	}
	if m.now().Before(r.LaunchDeadline) {
		return nil
	}
	p.report.Abandoned++
	return m.deleteUnless(ctx, r, "it was not there at its launch deadline", func(now *InstanceRecord) bool {
		return now.State != StatePending
	})
}

// unregistered removes a machine whose agent did not come while its token lived.
func (p *pass) unregistered(ctx context.Context, r *InstanceRecord) (bool, error) {
	m := p.m
	registered := func(r *InstanceRecord) bool { return r.RegisteredAt != nil }
	if registered(r) || m.conf().Shard.GC.RegistrationTimeout == 0 || !m.now().After(r.TokenExpiresAt.Add(m.skew())) {
		return false, nil
	}
	if !p.spend() {
		return true, nil
	}
	p.report.Unregistered++
	return true, m.deleteUnless(ctx, r, "it did not register in time", registered)
}

// living looks whether the machine of a record is there.
func (p *pass) living(ctx context.Context, r *InstanceRecord) error {
	m := p.m
	for _, one := range p.listed[r.InstanceID] {
		if one.Status.Gone() || !isOf(&one, r.Intent.Digest) {
			continue
		}
		if r.ProviderInstanceID == "" || r.ProviderInstanceID == one.ProviderInstanceID && r.Status != string(one.Status) {
			_, err := m.adopt(ctx, r.Tenant, &one)
			return err
		}
		return nil
	}
	if m.now().Sub(r.CreatedAt) < m.conf().Shard.GC.MinAge.Std() || m.connected(r.InstanceID) {
		return nil
	}
	found, err := m.lookUp(ctx, r.InstanceID, r.ProviderInstanceID)
	if err == nil && !found.Status.Gone() {
		return nil // the list lags
	}
	if err != nil && !infra.IsNotFound(err) {
		return err
	}
	if p.misses.add("gone/"+r.InstanceID, m.now()).count < needed || !p.spend() {
		return nil
	}
	p.report.Vanished++
	return m.deleteUnless(ctx, r, "the provider says that it is gone", func(now *InstanceRecord) bool {
		return m.connected(now.InstanceID)
	})
}

func (m *Manager) connected(instanceID string) bool {
	return m.opts.Connected != nil && m.opts.Connected(instanceID)
}

// errKept ends a deletion that is not needed any more.
var errKept = errors.New("it is kept")

// deleteUnless deletes an instance if the newest record still says why.
func (m *Manager) deleteUnless(ctx context.Context, r *InstanceRecord, reason string, kept func(*InstanceRecord) bool) error {
	m.opts.Logger.InfoContext(ctx, "an instance is removed that nobody asked to delete", "instance", r.InstanceID, "tenant", r.Tenant, "group", r.Group, "reason", reason)
	err := m.deleteFor(ctx, r.Tenant, r.InstanceID, reason, func(now *InstanceRecord) error {
		if kept(now) {
			return errKept
		}
		return nil
	})
	if errors.Is(err, errKept) || errors.Is(err, ErrInstanceNotFound) {
		return nil
	}
	return err
}

// orphan removes a machine of this shard that no record knows.
func (p *pass) orphan(ctx context.Context, one infra.Instance) error {
	m := p.m
	if one.Status.Leaving() {
		return nil
	}
	missed := p.misses.add("orphan/"+one.ProviderInstanceID, m.now())
	born := one.LaunchedAt
	if born.IsZero() {
		born = missed.since
	}
	if missed.count < needed || m.now().Sub(born) < m.conf().Shard.GC.MinAge.Std() || m.connected(one.InstanceID) {
		return nil
	}
	if len(p.listed[one.InstanceID]) > 1 {
		m.opts.Logger.WarnContext(ctx, "several machines bear the mark of one instance that has no record; a person has to see to them", "instance", one.InstanceID)
		return nil
	}
	if !p.spend() {
		return nil
	}
	if _, err := m.term(); err != nil {
		return err
	}
	m.opts.Logger.WarnContext(ctx, "a machine of this shard has no record, and is removed", "instance", one.InstanceID, "machine", one.ProviderInstanceID, "launched_at", one.LaunchedAt)
	call, cancel := context.WithTimeout(ctx, m.conf().Shard.Timings.RequestTimeout.Std())
	defer cancel()
	if err := m.opts.Provider.DeleteInstance(call, one.InstanceID, one.ProviderInstanceID); err != nil && !infra.IsNotFound(err) {
		return err
	}
	p.report.Orphans++
	return nil
}

// claimAge is how old a claim is before it can be one that nobody needs.
const claimAge = 24 * time.Hour

// sweepClaims removes claims of tokens whose record is gone.
func (m *Manager) sweepClaims(ctx context.Context, records []stored) error {
	all, err := m.objects.List(ctx, claimPrefix)
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(records))
	for _, s := range records {
		used[claimKey(s.record.RegistrationJWT)] = true
	}
	for _, object := range all {
		if used[object.Key] || m.now().Sub(object.Modified) < claimAge {
			continue
		}
		if _, err := m.term(); err != nil {
			return err
		}
		if err := m.objects.DeleteIfMatch(ctx, object.Key, object.Tag); err != nil {
			return err
		}
	}
	return nil
}
