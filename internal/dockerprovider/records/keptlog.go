package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// SaveKeptLog keeps the end of a container's log, in place of one of the same
// container and start, and of the workload the newest store.MaxKeptLogs. Values of
// secrets that the driver knows are taken out of it. Once a Deprovision has begun
// nothing is kept.
func (v *View) SaveKeptLog(ctx context.Context, l store.KeptLog) error {
	w, err := v.document(ctx)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Deleting {
		return nil
	}
	if err != nil {
		return err
	}
	l.Lines = []byte(v.redact(ctx, string(l.Lines)))
	if over := len(l.Lines) - store.MaxKeptLogBytes; over > 0 {
		l.Lines = wholeLines(l.Lines[over:])
	}
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	// Times of one length, so that keys sort by them.
	key := v.key(logDir, v.workload.String(), fmt.Sprintf("%020d-%s", max(l.Started.UnixNano(), 0), l.Container))
	if err := v.overwrite(ctx, key, value); err != nil {
		return fmt.Errorf("keep the log of %s: %w", l.Container, err)
	}
	keys, err := v.logKeys(ctx, v.workload)
	if err != nil {
		return err
	}
	for len(keys) > store.MaxKeptLogs {
		if err := v.remove(ctx, keys[0]); err != nil {
			return fmt.Errorf("drop a kept log of %s: %w", v.workload, err)
		}
		keys = keys[1:]
	}
	return nil
}

// wholeLines drops what is left of a line that was cut.
func wholeLines(b []byte) []byte {
	if i := slices.Index(b, '\n'); i >= 0 {
		return b[i+1:]
	}
	return nil
}

// KeptLogs lists a workload's kept logs, newest first.
func (s *Store) KeptLogs(ctx context.Context, workload id.ID) ([]store.KeptLog, error) {
	keys, err := s.logKeys(ctx, workload)
	if err != nil {
		return nil, err
	}
	var out []store.KeptLog
	for _, key := range slices.Backward(keys) {
		rec, err := s.state.Get(ctx, key)
		if errors.Is(err, provider.ErrNotFound) {
			continue
		}
		var l store.KeptLog
		if err == nil {
			err = json.Unmarshal(rec.Value, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("read a kept log of %s: %w", workload, err)
		}
		out = append(out, l)
	}
	return out, nil
}

func (s *Store) logKeys(ctx context.Context, workload id.ID) ([]string, error) {
	keys, err := s.state.List(ctx, s.key(logDir, workload.String())+"/")
	if err != nil {
		return nil, fmt.Errorf("list the kept logs of %s: %w", workload, err)
	}
	return keys, nil
}

func (s *Store) dropLogs(ctx context.Context, workload id.ID) error {
	keys, err := s.logKeys(ctx, workload)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := s.remove(ctx, key); err != nil {
			return fmt.Errorf("drop a kept log of %s: %w", workload, err)
		}
	}
	return nil
}

// overwrite puts a value whatever is there.
func (s *Store) overwrite(ctx context.Context, key string, value []byte) error {
	for range retries {
		var prior provider.Version
		rec, err := s.state.Get(ctx, key)
		switch {
		case err == nil:
			prior = rec.Version
		case !errors.Is(err, provider.ErrNotFound):
			return err
		}
		if _, err = s.state.Put(ctx, key, value, prior); !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%w: it was changed by others %d times in a row", provider.ErrUnavailable, retries)
}

func (s *Store) remove(ctx context.Context, key string) error {
	for range retries {
		rec, err := s.state.Get(ctx, key)
		if err == nil {
			err = s.state.Delete(ctx, key, rec.Version)
		}
		switch {
		case err == nil, errors.Is(err, provider.ErrNotFound):
			return nil
		case !errors.Is(err, provider.ErrConflict):
			return err
		}
	}
	return fmt.Errorf("%w: it was changed by others %d times in a row", provider.ErrUnavailable, retries)
}
