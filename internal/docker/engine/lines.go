package engine

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	// entryLimit is where an engine's log driver splits a long line into
	// entries, in bytes. An entry that lacks a line end and is shorter is the
	// last a process wrote before it ended.
	entryLimit = 16 << 10
	// maxStamp is longer than any timestamp an engine writes.
	maxStamp = 48
)

// assembler makes whole lines of one stream's log entries. Every entry begins
// with a timestamp and a space; a long line comes in several entries, of which
// only the last has a line end.
type assembler struct {
	stream   docker.Stream
	fn       func(entryLine) error
	entries  *int // read so far, of all streams
	terminal bool // no frames: entries are told apart by their length

	inStamp bool   // the next bytes are a timestamp, as far as one can tell
	stamp   []byte // what has come of it
	entry   int    // bytes of content in this entry
	open    bool   // a line has begun
	first   int    // the entry that it began with
	at      time.Time
	last    time.Time // of the newest entry
	line    []byte
}

// entryLine is a line and the number, from 0, of the entry it began with.
type entryLine struct {
	docker.LogLine
	entry int
}

func newAssembler(stream docker.Stream, entries *int, fn func(entryLine) error) *assembler {
	return &assembler{stream: stream, entries: entries, fn: fn, inStamp: true}
}

// feed takes the next bytes, cut anywhere.
func (a *assembler) feed(p []byte) error {
	for len(p) > 0 {
		if a.terminal && a.entry == entryLimit && p[0] != '\n' {
			a.inStamp, a.entry = true, 0
		}
		if a.inStamp {
			var err error
			if p, err = a.feedStamp(p); err != nil {
				return err
			}
			continue
		}
		n, ends := len(p), false
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			n, ends = i, true
		}
		if a.terminal && a.entry < entryLimit && a.entry+n > entryLimit {
			n, ends = entryLimit-a.entry, false
		}
		if err := a.content(p[:n]); err != nil {
			return err
		}
		if p = p[n:]; !ends {
			continue
		}
		p = p[1:]
		if err := a.lineEnd(); err != nil {
			return err
		}
	}
	return nil
}

// feedStamp collects up to the space that ends a timestamp and returns the
// rest. What turns out to be none is content.
func (a *assembler) feedStamp(p []byte) ([]byte, error) {
	i := bytes.IndexAny(p, " \n")
	if i < 0 && len(a.stamp)+len(p) <= maxStamp {
		a.stamp = append(a.stamp, p...)
		return nil, nil
	}
	a.inStamp, a.entry = false, 0
	if i >= 0 && p[i] == ' ' && len(a.stamp)+i <= maxStamp {
		a.stamp = append(a.stamp, p[:i]...)
		at, err := time.Parse(time.RFC3339Nano, string(a.stamp))
		if err == nil {
			a.stamp = a.stamp[:0]
			a.begin(at)
			return p[i+1:], nil
		}
		p = p[i:]
	}
	a.begin(a.last)
	err := a.content(a.stamp)
	a.stamp = a.stamp[:0]
	return p, err
}

// begin opens a line, or goes on with the one that is open.
func (a *assembler) begin(at time.Time) {
	a.last = at
	if !a.open {
		a.open, a.at, a.first = true, at, *a.entries
	}
	*a.entries++
}

// content appends to the line and lets go of what exceeds the bound.
func (a *assembler) content(p []byte) error {
	a.entry += len(p)
	for len(a.line)+len(p) > docker.MaxLogLine {
		take := docker.MaxLogLine - len(a.line)
		a.line = append(a.line, p[:take]...)
		p = p[take:]
		cut := runeBoundary(a.line)
		if err := a.emit(a.line[:cut], true); err != nil {
			return err
		}
		a.line = append(a.line[:0], a.line[cut:]...)
	}
	a.line = append(a.line, p...)
	return nil
}

// entryEnd marks the end of a frame. A short entry without a line end is the
// last word of a process, whose line nothing continues.
func (a *assembler) entryEnd() error {
	if a.inStamp && len(a.stamp) > 0 {
		if err := a.flushStamp(); err != nil {
			return err
		}
	}
	ended := a.open && a.entry < entryLimit
	a.inStamp, a.entry = true, 0
	if ended {
		return a.finish()
	}
	return nil
}

// flushStamp takes an unfinished timestamp for the content that it is.
func (a *assembler) flushStamp() error {
	a.inStamp = false
	a.begin(a.last)
	err := a.content(a.stamp)
	a.stamp = a.stamp[:0]
	return err
}

func (a *assembler) lineEnd() error {
	if a.terminal {
		a.line = bytes.TrimSuffix(a.line, []byte{'\r'})
	}
	a.inStamp, a.entry = true, 0
	return a.finish()
}

// end delivers what the log ends with.
func (a *assembler) end() error {
	if len(a.stamp) > 0 {
		if err := a.flushStamp(); err != nil {
			return err
		}
	}
	if !a.open {
		return nil
	}
	return a.finish()
}

func (a *assembler) finish() error {
	err := a.emit(a.line, false)
	a.open, a.line = false, a.line[:0]
	return err
}

func (a *assembler) emit(text []byte, partial bool) error {
	return a.fn(entryLine{docker.LogLine{Time: a.at, Stream: a.stream, Text: string(text), Partial: partial}, a.first})
}

// runeBoundary is the length of p without a character that is cut off at its
// end.
func runeBoundary(p []byte) int {
	for i := 1; i < utf8.UTFMax && i < len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}
