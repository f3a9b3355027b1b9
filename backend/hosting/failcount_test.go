package hosting_test

import (
	"testing"

	"github.com/berth-cloud/berth/backend"
)

// A holder gives a lease up that has failed so and so often. Changes that were taken
// back must not bring it nearer to that, and a success brings it back to nothing.
func TestChangesThatWereTakenBackAreNoFailuresOfALease(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		sent := []backend.CallbackStatus{success}
		for range 4 {
			after(update(one(1), breaks))(w)
			sent = append(sent, failure)
		}
		if info := w.ends(t, ready, sent...); info.FailCount != 0 || info.Reason != backend.ReasonUpdateFailed {
			t.Errorf("after four updates that were taken back it has failed %d times, %s", info.FailCount, info.Reason)
		}
		w.die(leaseIDs[0])
		sent = append(sent, failure)
		if info := w.ends(t, failed, sent...); info.FailCount != 1 || info.Reason != backend.ReasonContainerExited {
			t.Errorf("after it died it has failed %d times, %s", info.FailCount, info.Reason)
		}
		after(provision(one(1), serves(1)))(w)
		sent = append(sent, success)
		if info := w.ends(t, ready, sent...); info.FailCount != 0 || info.Reason != "" {
			t.Errorf("after a success it has failed %d times, %s", info.FailCount, info.Reason)
		}
	})
}
