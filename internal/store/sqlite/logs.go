package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const keptLogColumns = `container, started, service, release_id, replica, removed_at, lines`

func scanKeptLog(r rowScanner) (l store.KeptLog, err error) {
	err = r.Scan(&l.Container, asTime(&l.Started), &l.Service, &l.ReleaseID, &l.Replica, asTime(&l.RemovedAt), &l.Lines)
	return l, err
}

// SaveKeptLog implements store.Store. A container's log is known by its name
// and start: saving it again replaces it. Of a longer text the last whole lines
// within store.MaxKeptLogBytes are kept, and of a service the newest
// store.MaxKeptLogs logs.
func (s *Store) SaveKeptLog(ctx context.Context, l store.KeptLog) error {
	if l.RemovedAt.IsZero() {
		l.RemovedAt = s.now()
	}
	lines := lastLines(l.Lines, store.MaxKeptLogBytes)
	err := s.writer.do(ctx, func(t *tx) error {
		err := t.do(`INSERT OR REPLACE INTO kept_logs (`+keptLogColumns+`) VALUES (?, coalesce(?, 0), ?, ?, ?, ?, ?)`,
			l.Container, stamp(l.Started), l.Service, l.ReleaseID, l.Replica, stamp(l.RemovedAt), lines)
		if err != nil {
			return err
		}
		return t.do(`DELETE FROM kept_logs WHERE rowid IN (SELECT rowid FROM kept_logs WHERE service = ?
			ORDER BY removed_at DESC, rowid DESC LIMIT -1 OFFSET ?)`, l.Service, store.MaxKeptLogs)
	})
	if err != nil {
		return fmt.Errorf("keep the log of %s: %w", l.Container, err)
	}
	return nil
}

// lastLines is the end of a text, at most limit bytes, from the start of a line.
func lastLines(text []byte, limit int) []byte {
	if len(text) <= limit {
		return append([]byte{}, text...)
	}
	end := text[len(text)-limit:]
	if text[len(text)-limit-1] == '\n' {
		return end
	}
	if i := bytes.IndexByte(end, '\n'); i >= 0 {
		return end[i+1:]
	}
	return []byte{}
}

// ListKeptLogs implements store.Store, the newest first; a limit of 0 lists all.
func (s *Store) ListKeptLogs(ctx context.Context, service string, limit int) ([]store.KeptLog, error) {
	all, err := list(ctx, s, scanKeptLog, `SELECT container, nullif(started, 0), service, release_id, replica, removed_at, lines
		FROM kept_logs WHERE service = ? ORDER BY removed_at DESC, rowid DESC LIMIT ?`, service, atMost(limit))
	if err != nil {
		return nil, fmt.Errorf("list the kept logs of %s: %w", service, err)
	}
	return all, nil
}
