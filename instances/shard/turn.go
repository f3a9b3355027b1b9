package shard

import (
	"context"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// turn is what this process has while it leads: the controllers of one term.
type turn struct {
	shard  *Shard
	term   uint64
	since  time.Time
	groups *group.Groups
	engine *reconcile.Engine
	// drains are the machines that drain, with when that began in this term: what an
	// earlier leader decided does not hold.
	drains sync.Map
}

// lead is the work of a leader. It ends with ctx, or when it cannot go on.
func (s *Shard) lead(ctx context.Context, term uint64) error {
	asks, ok := s.prepare(ctx)
	if !ok {
		return nil
	}
	t, err := s.newTurn(term)
	if err != nil {
		return err
	}
	t.recall(asks)
	s.turn.Store(t)
	defer s.turn.Store(nil)
	return t.engine.Run(ctx)
}

// prepare reads what a leader has to know before it decides anything, again and again
// until it can be read; false is the end of ctx. A configuration that cannot be read now
// was read before, and holds.
func (s *Shard) prepare(ctx context.Context) (asks map[string]*ask, ok bool) {
	_ = s.opts.Loader.Refresh(ctx) // it logs what is wrong
	t := s.conf.Shard.Timings
	wait := reconcile.Backoff{Base: t.RetryMin.Std(), Ceiling: t.RetryMax.Std()}
	for failures := 1; ctx.Err() == nil; failures++ {
		err := s.Manager.RebuildCache(ctx)
		if err == nil {
			asks, err = s.asks(ctx)
		}
		if err == nil {
			return asks, true
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "this server leads and knows no machine yet; nothing is decided until it does", "error", err)
		}
		pause := time.NewTimer(wait.Delay(failures))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return nil, false
}

// recall tells the groups, before their first look, which machines are to be replaced: one
// that another leader began to make for it is not too many.
func (t *turn) recall(asks map[string]*ask) {
	for _, a := range asks {
		if a.Verb == verbRotate && a.Refused == "" {
			t.groups.Rotate(a.Tenant, a.Group, a.ID)
		}
	}
}

func (s *Shard) newTurn(term uint64) (*turn, error) {
	t := &turn{shard: s, term: term, since: s.opts.Now()}
	var err error
	t.groups, err = group.New(group.Options{
		Machines: told{s.Manager, s}, Rows: noted{s.db, t}, Configs: s.opts.Loader,
		Presence: present{group.FromHub(s.Hub), s}, Holder: s.opts.Holder, Drainer: s.opts.Drainer,
		Collector: s.Manager, Since: t.since, Now: s.opts.Now, Logger: s.log,
		Kick: func(key reconcile.Key) { t.engine.Kick(key) },
	})
	if err != nil {
		return nil, err
	}
	timings := s.conf.Shard.Timings
	t.engine = reconcile.New(t.factory, reconcile.Config{
		List: t.list, Logger: s.log, Now: s.opts.Now, DrainTimeout: timings.ShutdownTimeout.Std() / 2,
		Backoff: reconcile.Backoff{Base: 250 * time.Millisecond, Ceiling: timings.RetryMax.Std()},
	})
	return t, nil
}

// drain notes that a machine drains from now on.
func (t *turn) drain(instanceID string, at time.Time) {
	t.drains.LoadOrStore(instanceID, at)
}

// drains is since when a machine drains; zero is that it does not.
func (s *Shard) drains(instanceID string) time.Time {
	if t := s.turn.Load(); t != nil {
		if at, ok := t.drains.Load(instanceID); ok {
			return at.(time.Time)
		}
	}
	return time.Time{}
}

// factory makes the controllers of groups, and of what was asked for.
func (t *turn) factory(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	if key.Kind == kindAsk {
		return t.asked(ctx, key)
	}
	return t.groups.Factory(ctx, key)
}

func (t *turn) list(ctx context.Context) ([]reconcile.Key, error) {
	keys, err := t.groups.List(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := t.shard.askIDs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		keys = append(keys, askKey(id))
	}
	return keys, nil
}

// wakeAll has every key looked at now: what is wanted has changed, or what happened is
// not known.
func (t *turn) wakeAll(ctx context.Context) {
	keys, err := t.list(ctx)
	if err != nil {
		t.shard.log.WarnContext(ctx, "the groups could not be listed; they are looked at in their own time", "error", err)
	}
	for _, key := range keys {
		t.engine.Enqueue(key)
	}
}

// wake has the group of a machine looked at.
func (s *Shard) wake(ctx context.Context, instanceID string) {
	t := s.turn.Load()
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeTimeout)
	defer cancel()
	row, err := s.db.Instance(ctx, instanceID)
	if err != nil {
		// The cache is no truth: a machine that it does not have may be anybody's.
		t.engine.Resync()
		return
	}
	t.engine.Kick(group.Key(row.Tenant, row.Group))
}

// wakeTimeout bounds one look into the cache.
const wakeTimeout = 5 * time.Second

// follow reads again, until ctx is done, what may have been changed elsewhere: the
// configuration, and what others asked for.
func (s *Shard) follow(ctx context.Context) {
	tick := time.NewTicker(s.opts.ReloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		_ = s.Reload(ctx)
	}
}

// reloadTimeout bounds one reading of the configuration.
const reloadTimeout = 20 * time.Second

// Reload reads the configuration now. When it changed, every group is looked at. One that
// cannot be read changes nothing, and the error says what is wrong.
func (s *Shard) Reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	before := s.opts.Loader.Status()
	err := s.opts.Loader.Refresh(ctx)
	after := s.opts.Loader.Status()
	t := s.turn.Load()
	if t == nil {
		return err
	}
	if before.Tag != after.Tag || before.DynamicTag != after.DynamicTag || (before.Err == nil) != (after.Err == nil) {
		t.wakeAll(ctx)
		return err
	}
	ids, listed := s.askIDs(ctx)
	if listed != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "what was asked for could not be listed; it is tried again", "error", listed)
	}
	for _, id := range ids {
		t.engine.Kick(askKey(id))
	}
	return err
}

// watch tells the groups, and the history of machines, what the hub sees.
func (s *Shard) watch(ctx context.Context) {
	sub := s.Hub.Subscribe(256)
	defer sub.Close()
	for {
		select {
		case e := <-sub.Events():
			s.seen(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}
