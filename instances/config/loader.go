package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// LoaderOptions are what a Loader is made of.
type LoaderOptions struct {
	// Source is where the configuration is; required.
	Source Source
	// Name is what errors call its text; empty is config.jsonc.
	Name string
	// Dynamic are the groups that are made and changed while the daemon runs;
	// nil is that there are none.
	Dynamic *Dynamic
	// Now is the clock, of which only Status tells; nil is the system's.
	Now func() time.Time
	// Logger gets a line for each configuration that is taken, and each reading
	// that fails; nil is nowhere.
	Logger *slog.Logger
}

// Dynamic is where dynamic groups are kept: one object, written only by
// PutIfMatch.
type Dynamic struct {
	Objects Objects
	Key     string
	// NotFound and Precondition are the errors of Objects, for errors.Is, that
	// there is no object, and that another wrote it meanwhile. Both are required.
	NotFound, Precondition error
}

// Loader reads a configuration, keeps the last one that was good, and hands it
// out without a lock. Its methods may be called from many goroutines; readings
// and changes come one after another.
type Loader struct {
	opts LoaderOptions
	turn chan struct{} // holds one token; who has it reads or writes
	now  atomic.Pointer[snapshot]
}

// snapshot is one state of a Loader and never changes.
type snapshot struct {
	static, current *Config // nil before the first good reading
	dynamic         Groups
	tag, dynamicTag string
	loaded, checked time.Time
	err             error // of the latest reading
}

// NewLoader makes a loader that has read nothing yet. ErrInvalid: something that
// is required is missing.
func NewLoader(opts LoaderOptions) (*Loader, error) {
	if opts.Source == nil {
		return nil, fmt.Errorf("%w: a loader needs a source", ErrInvalid)
	}
	if d := opts.Dynamic; d != nil && (d.Objects == nil || d.Key == "" || d.NotFound == nil || d.Precondition == nil) {
		return nil, fmt.Errorf("%w: dynamic groups need objects, a key and both of their errors", ErrInvalid)
	}
	if opts.Name == "" {
		opts.Name = "config.jsonc"
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Loader{opts: opts, turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	l.now.Store(&snapshot{})
	return l, nil
}

// Current is the last good configuration, dynamic groups included, and nil
// before there was one. It is shared: read it, and change a copy.
func (l *Loader) Current() *Config { return l.now.Load().current }

// Status is what a Loader knows about itself.
type Status struct {
	// LoadedAt is when the current configuration was taken, CheckedAt when it was
	// last looked for; both are zero before that.
	LoadedAt, CheckedAt time.Time
	// Tag and DynamicTag are those of what Current is made of.
	Tag, DynamicTag string
	// Err is how the latest reading failed, nil when it did not.
	Err error
}

// Status says how old the configuration is, and why there is no newer one.
func (l *Loader) Status() Status {
	s := l.now.Load()
	return Status{s.loaded, s.checked, s.tag, s.dynamicTag, s.err}
}

// Refresh reads again, and takes what it finds if all of it is good. Else the
// last good one stays, the error says what is wrong, and until a reading
// succeeds nobody is told that a group does not exist.
func (l *Loader) Refresh(ctx context.Context) error {
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	before := l.now.Load()
	next, err := l.read(ctx, before)
	if err != nil {
		failed := *before
		failed.err, failed.checked = err, l.opts.Now()
		l.now.Store(&failed)
		l.opts.Logger.WarnContext(ctx, "configuration not taken", "error", err, "keeps", before.tag)
		return err
	}
	l.now.Store(next)
	if next.tag != before.tag || next.dynamicTag != before.dynamicTag {
		l.opts.Logger.InfoContext(ctx, "configuration taken", "tag", next.tag, "dynamic_tag", next.dynamicTag, "groups", len(next.current.GroupKeys()))
	}
	return nil
}

func (l *Loader) read(ctx context.Context, before *snapshot) (*snapshot, error) {
	raw, tag, err := l.opts.Source.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrNotLoaded, l.opts.Name, err)
	}
	static := before.static
	if static == nil || tag == "" || tag != before.tag {
		if static, err = Parse(l.opts.Name, raw); err != nil {
			return nil, err
		}
	}
	groups, dynamicTag, err := l.readDynamic(ctx, before)
	if err != nil {
		return nil, err
	}
	now := l.opts.Now()
	next := &snapshot{static: static, dynamic: groups, tag: tag, dynamicTag: dynamicTag, loaded: now, checked: now}
	if static == before.static && dynamicTag == before.dynamicTag && before.current != nil {
		next.current, next.loaded = before.current, before.loaded
		return next, nil
	}
	next.current, err = static.WithDynamic(groups)
	return next, err
}

// readDynamic reads the dynamic groups. That there is no object is none of them,
// unless there was one: nobody removes it, so something is wrong then.
func (l *Loader) readDynamic(ctx context.Context, before *snapshot) (Groups, string, error) {
	d := l.opts.Dynamic
	if d == nil {
		return Groups{}, "", nil
	}
	raw, tag, err := d.Objects.Get(ctx, d.Key)
	switch {
	case errors.Is(err, d.NotFound) && before.dynamicTag == "":
		return Groups{}, "", nil
	case errors.Is(err, d.NotFound):
		return nil, "", fmt.Errorf("%w: the dynamic groups were in %s, which is not there any more: %w", ErrNotLoaded, d.Key, err)
	case err != nil:
		return nil, "", fmt.Errorf("%w: read %s: %w", ErrNotLoaded, d.Key, err)
	case tag == before.dynamicTag && tag != "":
		return before.dynamic, tag, nil
	}
	groups, err := ParseGroups(d.Key, raw)
	return groups, tag, err
}

// take waits for the turn.
func (l *Loader) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Loader) give() { l.turn <- struct{}{} }
