package outbox

import (
	"context"
	"fmt"
	neturl "net/url"
	"strings"
	"time"
)

// State is how it stands with the callbacks of a lease, for an operator.
type State struct {
	Pending int    // callbacks that wait
	GivenUp uint64 // callbacks that nobody acknowledged, since the lease is known

	// Of the callback that is next; zero where none waits.
	CreatedAt time.Time
	Attempts  int
	NextTry   time.Time // zero: at once
	Failure   string    // of the last attempt, without anything of the URL
}

// receiver is the scheme, host and port that the next callback of a lease goes to;
// "" where none waits or it cannot be read.
func (o *Outbox) receiver(ctx context.Context, lease string) string {
	lease, err := leaseName(lease)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	r, _, err := o.get(ctx, lease)
	if err != nil || len(r.Rows) == 0 {
		return ""
	}
	u, err := neturl.Parse(r.Rows[0].URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// Look is the State of a lease, which is zero for one that is not known. The errors
// are ErrInvalid, ErrRecord and those of the store.
func (o *Outbox) Look(ctx context.Context, lease string) (State, error) {
	lease, err := leaseName(lease)
	if err != nil {
		return State{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	r, _, err := o.get(ctx, lease)
	if err != nil {
		return State{}, fmt.Errorf("callbacks of lease %s: %w", lease, err)
	}
	s := State{Pending: len(r.Rows), GivenUp: r.GivenUp}
	if len(r.Rows) > 0 {
		first := r.Rows[0]
		s.CreatedAt, s.Attempts, s.NextTry, s.Failure = first.CreatedAt, first.Attempts, first.NextTry, first.Failure
	}
	return s, nil
}
