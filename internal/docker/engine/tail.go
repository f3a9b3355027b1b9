package engine

import (
	"context"

	"github.com/berth-cloud/berth/internal/docker"
)

// tailMargin is how many entries more than lines are asked for: a line that
// begins this far from where the answer begins is surely whole, since the
// entries of one line lie side by side but for a few of the other stream's.
const tailMargin = 8

// tail returns the last lines. Without lines of several entries one answer of
// the engine does; each further one is four times as long.
func (r *logReader) tail(ctx context.Context, opts docker.LogOptions) ([]docker.LogLine, error) {
	ask := opts
	ask.Follow = false
	for entries := opts.Tail + tailMargin; ; entries *= 4 {
		ask.Tail = entries
		if !opts.Until.IsZero() {
			ask.Tail = 0 // engines would count the lines after it too
		}
		last := ring{size: opts.Tail}
		read, err := r.read(ctx, ask, !opts.Follow, last.add)
		if err != nil {
			return nil, err
		}
		if ask.Tail == 0 || read < entries || last.oldest() >= tailMargin {
			return last.lines(), nil
		}
	}
}

// ring keeps the newest lines. What it holds is bounded by the log that the
// engine keeps.
type ring struct {
	size  int
	kept  []entryLine
	start int
}

func (b *ring) add(line entryLine) error {
	if len(b.kept) < b.size {
		b.kept = append(b.kept, line)
		return nil
	}
	b.kept[b.start] = line
	b.start = (b.start + 1) % b.size
	return nil
}

// oldest is the entry that the oldest line began with; below the margin while
// there are too few lines.
func (b *ring) oldest() int {
	if len(b.kept) < b.size {
		return -1
	}
	first := b.kept[0].entry
	for _, line := range b.kept {
		first = min(first, line.entry)
	}
	return first
}

func (b *ring) lines() []docker.LogLine {
	out := make([]docker.LogLine, 0, len(b.kept))
	for i := range b.kept {
		out = append(out, b.kept[(b.start+i)%len(b.kept)].LogLine)
	}
	return out
}
