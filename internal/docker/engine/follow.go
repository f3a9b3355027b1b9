package engine

import (
	"errors"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// clockSkew is how much older than its predecessor in the log a line of the
// other stream may be: each stream has a writer of its own in the engine.
const clockSkew = time.Second

// delivered remembers where each stream of a followed log has got to. Within
// one stream times never go back.
type delivered struct {
	streams [2]position
	newest  time.Time
}

// position is the time of the newest line and how many lines had it, which
// pieces of one long line do.
type position struct {
	at    time.Time
	lines int
}

func (d *delivered) stream(s docker.Stream) *position {
	if s == docker.Stderr {
		return &d.streams[1]
	}
	return &d.streams[0]
}

func (d *delivered) note(line docker.LogLine) {
	p := d.stream(line.Stream)
	if !line.Time.Equal(p.at) {
		*p = position{at: line.Time}
	}
	p.lines++
	if line.Time.After(d.newest) {
		d.newest = line.Time
	}
}

// rest selects what may be missing: all of it when nothing was delivered,
// since then nothing was there to cut a tail from.
func (d *delivered) rest(opts docker.LogOptions) docker.LogOptions {
	opts.Tail = 0
	if d.newest.IsZero() {
		return opts
	}
	since := d.newest
	for _, p := range d.streams {
		if p.lines > 0 && p.at.Before(since) {
			since = p.at
		}
	}
	if since = since.Add(-clockSkew); since.After(opts.Since) {
		opts.Since = since
	}
	return opts
}

// covers reports, for the lines of the second reading in order, whether a line
// was delivered in the first.
func (d *delivered) covers(line docker.LogLine) bool {
	p := d.stream(line.Stream)
	if p.at.IsZero() {
		// Nothing of this stream came. What is older than the newest line of
		// the other was left out by the caller's choice of lines.
		return line.Time.Before(d.newest)
	}
	if line.Time.Equal(p.at) && p.lines > 0 {
		p.lines--
		return true
	}
	return line.Time.Before(p.at)
}

// gone reports a container that was removed as soon as it had ended.
func gone(err error) bool {
	return errors.Is(err, docker.ErrNotFound) || errors.Is(err, docker.ErrConflict)
}
