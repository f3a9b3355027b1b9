package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// attempts bounds how often a change of the dynamic groups begins again because
// another came first.
const attempts = 5

// Group is a copy of a group. ErrGroupNotFound is what a configuration said that
// could be read, and still can: after a reading that failed the error is
// ErrNotLoaded, as the group may be in what was not read.
func (l *Loader) Group(key GroupKey) (Group, error) {
	s := l.now.Load()
	if s.current == nil {
		return Group{}, s.unknown()
	}
	g, err := s.current.Group(key)
	return g, s.doubt(err)
}

// Merge is Config.Merge on the current configuration, with errors as of Group.
func (l *Loader) Merge(req MergeRequest) (*MergedConfig, error) {
	s := l.now.Load()
	if s.current == nil {
		return nil, s.unknown()
	}
	m, err := s.current.Merge(req)
	return m, s.doubt(err)
}

// doubt turns an absence into ErrNotLoaded when the latest reading failed.
func (s *snapshot) doubt(err error) error {
	if s.err != nil && (errors.Is(err, ErrGroupNotFound) || errors.Is(err, ErrTemplateNotFound)) {
		return s.unknown()
	}
	return err
}

func (s *snapshot) unknown() error {
	switch {
	case s.err == nil:
		return fmt.Errorf("%w: nothing was read yet", ErrNotLoaded)
	case errors.Is(s.err, ErrNotLoaded):
		return s.err
	}
	return fmt.Errorf("%w: %w", ErrNotLoaded, s.err)
}

// UpsertGroup makes a dynamic group, or changes what the given one says of an
// existing group; what it leaves out stays. It returns the group as it is then.
// Errors: ErrInvalid, ErrRefused for what a group of the text keeps, ErrNotLoaded,
// ErrContended after five attempts. After any other error the change may have
// been made; asking again is safe.
func (l *Loader) UpsertGroup(ctx context.Context, key GroupKey, group Group) (Group, error) {
	s, err := l.change(ctx, func(c *Config, dynamic Groups) (Groups, error) { return c.upserted(dynamic, key, group) })
	if err != nil {
		return Group{}, fmt.Errorf("change group %s of %s: %w", clip(key.Group), clip(key.Tenant), err)
	}
	return s.current.Group(key)
}

// DeleteGroup removes a dynamic group. Errors are as of UpsertGroup, and
// ErrGroupNotFound; a group of the text is ErrRefused.
func (l *Loader) DeleteGroup(ctx context.Context, key GroupKey) error {
	_, err := l.change(ctx, func(c *Config, dynamic Groups) (Groups, error) { return c.deleted(dynamic, key) })
	if err != nil {
		return fmt.Errorf("delete group %s of %s: %w", clip(key.Group), clip(key.Tenant), err)
	}
	return nil
}

// change reads the dynamic groups, changes them, checks the whole and writes it
// if nobody came between.
func (l *Loader) change(ctx context.Context, f func(*Config, Groups) (Groups, error)) (*snapshot, error) {
	if l.opts.Dynamic == nil {
		return nil, fmt.Errorf("%w: there are no dynamic groups here", ErrRefused)
	}
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	defer l.give()
	for range attempts {
		next, err := l.tryChange(ctx, f)
		if err == nil {
			l.now.Store(next)
			return next, nil
		}
		if !errors.Is(err, l.opts.Dynamic.Precondition) {
			return nil, err
		}
	}
	return nil, ErrContended
}

func (l *Loader) tryChange(ctx context.Context, f func(*Config, Groups) (Groups, error)) (*snapshot, error) {
	before := l.now.Load()
	if before.static == nil {
		return nil, before.unknown()
	}
	groups, tag, err := l.readDynamic(ctx, before)
	if err != nil {
		return nil, err
	}
	changed, err := f(before.static, groups)
	if err != nil {
		return nil, err
	}
	next := *before
	if tag != "" && same(changed, groups) { // nothing to write
		next.dynamicTag, next.dynamic, next.loaded = tag, groups, l.opts.Now()
		next.current, err = before.static.WithDynamic(groups)
		return &next, err
	}
	if next.current, err = before.static.WithDynamic(changed); err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(changed, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("%w: the dynamic groups have %d bytes; %d are the most", ErrInvalid, len(raw), MaxBytes)
	}
	next.dynamicTag, err = l.opts.Dynamic.Objects.PutIfMatch(ctx, l.opts.Dynamic.Key, append(raw, '\n'), tag)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", l.opts.Dynamic.Key, err)
	}
	next.dynamic, next.loaded = changed, l.opts.Now()
	return &next, nil
}

// same reports whether two sets of groups say the same.
func same(a, b Groups) bool {
	one, err := canonical(a)
	if err != nil {
		return false
	}
	two, err := canonical(b)
	return err == nil && bytes.Equal(one, two)
}
