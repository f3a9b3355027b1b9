package id

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// Generator makes ids whose UUIDs strictly increase over the life of the
// Generator, whatever the kinds, the number of callers and the clock do: a clock
// that stands or goes back is answered with the last time and a higher counter,
// and when the counter is used up with the next millisecond.
//
// The zero Generator is ready, with the system's clock and source of chance.
type Generator struct {
	// Now is the clock, and nil is time.Now. Times before 1970 count as 1970.
	Now func() time.Time

	mu      sync.Mutex
	ms      int64
	counter uint16
}

// counterMax is the largest value of the 12 bits between version and variant.
const counterMax = 1<<12 - 1

// New makes an id. A kind that is not three letters a to z is a mistake in the
// program, so it panics; a kind that comes from outside is first tried on
// FromUUID.
func (g *Generator) New(kind string) ID {
	if !validKind(kind) {
		panic(fmt.Sprintf("id: kind %q is not three letters a to z", kind))
	}
	var chance [10]byte
	// It never fails: a system without a source of chance stops the program.
	_, _ = rand.Read(chance[:])
	ms, counter := g.next(binary.BigEndian.Uint16(chance[8:]))
	return ID{text: kind + encode(makeUUID(ms, counter, binary.BigEndian.Uint64(chance[:8])))}
}

// next takes the next pair of time and counter. A new millisecond begins at
// a random count in the lower half, which leaves 2048 more for the rest of it.
func (g *Generator) next(seed uint16) (int64, uint16) {
	now := time.Now
	if g.Now != nil {
		now = g.Now
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ms := max(now().UnixMilli(), 0)
	switch {
	case ms > g.ms:
		g.ms, g.counter = ms, seed&(counterMax>>1)
	case g.counter < counterMax:
		g.counter++
	default:
		g.ms, g.counter = g.ms+1, seed&(counterMax>>1)
	}
	return g.ms, g.counter
}

// process is the one Generator behind New: order within a process needs one
// counter for all of it.
var process Generator

// New makes an id that is greater than all that New made in this process before,
// by the clock of the system. It panics as Generator.New does.
func New(kind string) ID { return process.New(kind) }
