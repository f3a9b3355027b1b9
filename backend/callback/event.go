package callback

import (
	"time"

	"github.com/berth-cloud/berth/backend"
)

// EventOf is what a callback says to those who watch the lease. It is not ok for a
// lease that is gone without a rest, of which there is no status.
func EventOf(p backend.CallbackPayload, at time.Time) (event backend.LeaseStatusEvent, ok bool) {
	event = backend.LeaseStatusEvent{LeaseUUID: p.LeaseUUID, Error: p.Error, Timestamp: at}
	switch {
	case p.Status == backend.CallbackStatusSuccess:
		event.Status = backend.ProvisionStatusReady
	case p.Status == backend.CallbackStatusFailed:
		event.Status = backend.ProvisionStatusFailed
	case p.Status == backend.CallbackStatusDeprovisioned && p.Retained:
		event.Status = backend.ProvisionStatusRetained
	default:
		return backend.LeaseStatusEvent{}, false
	}
	return event, true
}
