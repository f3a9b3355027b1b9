package outbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// recordVersion is that of the form of a record. Another is not touched.
const recordVersion = 1

// record is all that is kept of one lease.
type record struct {
	Version int `json:"version"`

	// Rows wait, the next one first.
	Rows []row `json:"rows,omitempty"`
	// LastSeq is the sequence number of the last row that there was.
	LastSeq uint64 `json:"last_seq"`

	// Claim is who sends the first row; nil is nobody.
	Claim *claim `json:"claim,omitempty"`
	// Claims counts them, so that each has a number of its own.
	Claims uint64 `json:"claims"`

	// LastSigned is the second of the last signature; 0 is none so far.
	LastSigned int64 `json:"last_signed,omitempty"`
	// Over are operations whose callbacks are gone, the latest last.
	Over []string `json:"over,omitempty"`
	// GivenUp counts the callbacks that nobody acknowledged.
	GivenUp uint64 `json:"given_up,omitempty"`
	// Forgotten says that only LastSigned is left, until it is past.
	Forgotten bool `json:"forgotten,omitempty"`
}

// row is one callback.
type row struct {
	Seq       uint64    `json:"seq"`
	Operation string    `json:"operation"`
	URL       string    `json:"url"`
	Body      string    `json:"body"` // to the byte
	CreatedAt time.Time `json:"created_at"`

	Attempts int       `json:"attempts,omitempty"`
	LastTry  time.Time `json:"last_try,omitzero"`
	NextTry  time.Time `json:"next_try,omitzero"`
	// Signed is the second of the signature with which it was sent last; 0 is none,
	// or none that may be used again.
	Signed int64 `json:"signed,omitempty"`
	// Failure is what came of the last attempt, in words of this package.
	Failure string `json:"failure,omitempty"`
}

// same is whether two rows are one callback at different times.
func (r *row) same(other *row) bool {
	return r.Seq == other.Seq && r.Operation == other.Operation && r.CreatedAt.Equal(other.CreatedAt)
}

// claim is the right to send the first row, until it lapses.
type claim struct {
	Number uint64    `json:"number"`
	Until  time.Time `json:"until"`
}

// live is whether somebody may be sending. A claim that ends later than any can was
// written by a clock that went back since.
func (c *claim) live(now time.Time) bool {
	return c != nil && c.Until.After(now) && c.Until.Sub(now) <= claimTime
}

func decode(value []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(value, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("%w: its form is %d, and %d is known here", ErrRecord, r.Version, recordVersion)
	}
	return r, nil
}

// knows is the row of an operation, or whether it is over.
func (r *record) knows(operation string) (waiting *row, over bool) {
	for i := range r.Rows {
		if r.Rows[i].Operation == operation {
			return &r.Rows[i], false
		}
	}
	return nil, slices.Contains(r.Over, operation)
}

// drop takes the first row away, and remembers its operation.
func (r *record) drop() row {
	first := r.Rows[0]
	r.Rows = r.Rows[1:]
	r.Over = append(r.Over, first.Operation)
	r.Over = r.Over[max(0, len(r.Over)-MaxRemembered):]
	return first
}
