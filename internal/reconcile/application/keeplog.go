package application

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

const (
	keptLogBytes = 1 << 20
	keptLogLines = 20_000
	keptLogTime  = 10 * time.Second
)

// keepLog stores the end of a container's log before it goes. A log that
// cannot be read is not worth a container that can never be removed; a store
// that cannot write is an error.
func (c *Controller) keepLog(ctx context.Context, m *Member, replica int) error {
	rctx, cancel := context.WithTimeout(ctx, keptLogTime)
	defer cancel()
	ring := lineRing{limit: keptLogBytes}
	err := c.rt.Logs(rctx, m.ID, docker.LogOptions{Tail: keptLogLines}, func(l docker.LogLine) error {
		line, err := json.Marshal(l)
		if err != nil {
			return err
		}
		ring.add(line)
		return nil
	})
	if err != nil {
		c.logger.WarnContext(ctx, "the log of a removed container is kept in part", "container", m.Name, "error", err)
	}
	kept := store.KeptLog{
		Container: m.Name, Service: c.service, ReleaseID: m.ReleaseID, Replica: replica,
		Started: m.Started, RemovedAt: c.now(), Lines: ring.bytes(),
	}
	if err := c.store.SaveKeptLog(ctx, kept); err != nil {
		return storeError("keep the log of "+m.Name, err)
	}
	return nil
}

// lineRing keeps the last lines that fit its limit.
type lineRing struct {
	lines [][]byte
	size  int
	limit int
}

func (r *lineRing) add(line []byte) {
	r.lines = append(r.lines, line)
	r.size += len(line) + 1
	for r.size > r.limit && len(r.lines) > 1 {
		r.size -= len(r.lines[0]) + 1
		r.lines = r.lines[1:]
	}
}

func (r *lineRing) bytes() []byte {
	if len(r.lines) == 0 {
		return nil
	}
	return append(bytes.Join(r.lines, []byte{'\n'}), '\n')
}
