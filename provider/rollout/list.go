package rollout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Page asks for a part of a list.
type Page struct {
	// Cursor is what the page before returned, and empty for the first. It means
	// a place and not an entry, so it stays good when that is gone. One that no
	// page returned is provider.ErrInvalid.
	Cursor string

	// Limit is how many entries, from 1 to MaxPage; zero is DefaultPage.
	Limit int
}

// Bounds of Page.Limit.
const (
	DefaultPage = 20
	MaxPage     = 200
)

// Current is the release whose rollout last succeeded. Before any did it is
// provider.ErrNotFound.
func (m *Manager) Current(ctx context.Context, workload id.ID) (*Release, error) {
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	if rel := rec.release(rec.Current); rel != nil {
		return rel, nil
	}
	return nil, fmt.Errorf("%w: no release of workload %s has served", provider.ErrNotFound, workload)
}

// Release is one release of a workload.
func (m *Manager) Release(ctx context.Context, workload, release id.ID) (*Release, error) {
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	if rel := rec.release(release); rel != nil {
		return rel, nil
	}
	return nil, fmt.Errorf("%w: workload %s has no release %s", provider.ErrNotFound, workload, release)
}

// Rollout is one rollout of a workload.
func (m *Manager) Rollout(ctx context.Context, workload, rollout id.ID) (*Rollout, error) {
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, err
	}
	if ro := rec.rollout(rollout); ro != nil {
		return ro, nil
	}
	return nil, fmt.Errorf("%w: workload %s has no rollout %s", provider.ErrNotFound, workload, rollout)
}

// Releases lists the releases that are kept, newest first, and the cursor of the
// next page, empty after the last.
func (m *Manager) Releases(ctx context.Context, workload id.ID, page Page) ([]Release, string, error) {
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, "", err
	}
	return newestFirst(rec.Releases, page, "v", func(r Release) int64 { return r.Version })
}

// Rollouts lists the rollouts that are kept, newest first, and the cursor of the
// next page, empty after the last.
func (m *Manager) Rollouts(ctx context.Context, workload id.ID, page Page) ([]Rollout, string, error) {
	rec, _, err := m.load(ctx, workload)
	if err != nil {
		return nil, "", err
	}
	return newestFirst(rec.Rollouts, page, "r", func(r Rollout) int64 { return r.Number })
}

// newestFirst takes a page from a list that is sorted by number. A cursor is the
// mark of the list and the number below which the page begins.
func newestFirst[T any](list []T, page Page, mark string, number func(T) int64) ([]T, string, error) {
	limit := page.Limit
	if limit == 0 {
		limit = DefaultPage
	}
	if limit < 1 || limit > MaxPage {
		return nil, "", fmt.Errorf("%w: a page of %d entries; 1 to %d are possible", provider.ErrInvalid, limit, MaxPage)
	}
	below, err := parseCursor(page.Cursor, mark)
	if err != nil {
		return nil, "", err
	}
	out := []T{}
	for i := len(list) - 1; i >= 0; i-- {
		if below > 0 && number(list[i]) >= below {
			continue
		}
		if len(out) == limit {
			return out, mark + strconv.FormatInt(number(out[limit-1]), 10), nil
		}
		out = append(out, list[i])
	}
	return out, "", nil
}

func parseCursor(cursor, mark string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	text, ok := strings.CutPrefix(cursor, mark)
	n, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil || n < 1 || mark+strconv.FormatInt(n, 10) != cursor {
		return 0, fmt.Errorf("%w: cursor %q", provider.ErrInvalid, clip(cursor, 64))
	}
	return n, nil
}

// Workloads lists what has records, sorted by id.
func (m *Manager) Workloads(ctx context.Context) ([]id.ID, error) {
	prefix := m.opts.Prefix + "/"
	keys, err := m.store.List(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	var out []id.ID
	var bad []error
	for _, key := range keys {
		workload, err := id.Parse(strings.TrimPrefix(key, prefix))
		if err != nil {
			bad = append(bad, fmt.Errorf("%w: key %q: %w", ErrRecord, key, err))
			continue
		}
		out = append(out, workload)
	}
	return out, errors.Join(bad...)
}
