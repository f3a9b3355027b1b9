package lead

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// lockSchema is the form of the lock object.
const lockSchema = 1

// errLock is a lock object that this program cannot read; nobody leads by it.
var errLock = errors.New("unreadable lock object")

// lock is the object that says who leads.
type lock struct {
	Schema int    `json:"schema"`
	Term   uint64 `json:"term"`
	Holder string `json:"holder"`
	// Session is one run of one process, and Beat one of its writes.
	Session string `json:"session"`
	Beat    uint64 `json:"beat"`
	// Released: the holder has ended, and anybody may lead.
	Released bool `json:"released,omitempty"`
	// Empty: it stands for one that was missing; nobody leads by it.
	Empty bool `json:"empty,omitempty"`
	// RenewedAt, IntervalMS and TimeoutMS are the holder's, for people.
	RenewedAt  time.Time `json:"renewed_at"`
	IntervalMS int64     `json:"interval_ms"`
	TimeoutMS  int64     `json:"timeout_ms"`
}

func parseLock(data []byte) (lock, error) {
	var l lock
	if err := json.Unmarshal(data, &l); err != nil {
		return lock{}, fmt.Errorf("%w: it is not JSON", errLock)
	}
	if l.Schema != lockSchema || l.Term == 0 || l.Session == "" {
		return lock{}, fmt.Errorf("%w: schema %d, term %d", errLock, l.Schema, l.Term)
	}
	return l, nil
}

func (l lock) bytes() ([]byte, error) {
	raw, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("write the lock object: %w", err)
	}
	return append(raw, '\n'), nil
}
