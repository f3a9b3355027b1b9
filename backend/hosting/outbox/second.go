package outbox

import (
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

const (
	// maxLead is how far ahead of the clock a signature may be. Half of what the
	// receiver allows is left for a difference between the clocks.
	maxLead = hmacauth.MaxSkew / 2

	// reuseFor is how old a signature may be to be used again, with the same left.
	reuseFor = hmacauth.MaxAge - hmacauth.MaxSkew

	// memory is how long a receiver may remember a signature.
	memory = hmacauth.MaxAge + hmacauth.MaxSkew + time.Second
)

// sign chooses the second of the signature of a row and writes it down. Where that
// would be too far ahead of the clock it does nothing, and says how long to wait.
func (r *record) sign(to *row, now time.Time) (wait time.Duration) {
	here := now.Unix()
	if to.Signed != 0 && to.Signed >= here-seconds(reuseFor) && to.Signed <= here+seconds(maxLead) {
		return 0
	}
	second := max(here, r.LastSigned+1)
	switch lead := second - here; {
	case lead > seconds(memory):
		// The clock was ahead, and a receiver that remembers what was signed then
		// will have forgotten it before that time comes.
		second = here
	case lead > seconds(maxLead):
		return time.Duration(lead)*time.Second - maxLead
	}
	to.Signed, r.LastSigned = second, second
	return 0
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
