package dockerprovider

import (
	"strconv"
	"time"

	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// The planner's words for what an attempt does.
const (
	actionCreate  = "create"
	actionUpdate  = "update"
	actionScale   = "scale"
	actionRestart = "restart"
	actionStart   = "start"
	actionStop    = "stop"
)

// intent is a change of what a workload shall be.
type intent struct {
	rev    *records.Revision
	kind   store.AttemptKind
	action string
	// pin is the planner's release to run again as it was; "" makes one of the
	// revision.
	pin string
	// images are those of the planner's release for the services that pinned
	// names, where no pin says all.
	images *store.Release
	pinned func(service string) bool
	// anew makes new containers also where nothing but labels differs.
	anew    bool
	stopped bool
}

// desire writes an attempt and the desired state that it asks for. An attempt
// that is under way is over with it.
func (d *Driver) desire(w *records.Workload, in intent, now time.Time) error {
	s, err := serviceOf(w, in.rev)
	if err != nil {
		return err
	}
	if in.pin == "" && in.pinned != nil {
		s = translate.PinImages(s, in.images, in.pinned)
	}
	w.LastAttempt++
	w.Supersede(now)
	w.Attempts = append(w.Attempts, store.Attempt{
		ID: w.LastAttempt, AppID: w.App, Kind: in.kind, State: store.AttemptRunning, CreatedAt: now,
		Services: []store.AttemptService{{
			AttemptID: w.LastAttempt, Service: w.ID.String(), Action: in.action, State: store.AttemptQueued, UpdatedAt: now,
		}},
	})
	var generation int64
	nonce := ""
	if w.Desired != nil {
		generation, nonce = w.Desired.Generation, w.Desired.RestartNonce
	}
	if in.anew {
		nonce = nextNonce(nonce)
	}
	w.Goal = in.rev.Number
	w.Desired = &store.DesiredService{
		Name: w.ID.String(), AppID: w.App, Image: s.Image, Spec: s, Generation: generation + 1, RestartNonce: nonce,
		Replicas: s.Replicas, ReleaseID: in.pin, AttemptID: w.LastAttempt, Stopped: in.stopped, UpdatedAt: now,
	}
	if decides(w, in) {
		w.RolloutAttempt = w.LastAttempt
	}
	return nil
}

// decides reports whether the attempt is the one that decides about the wanted
// revision, and does not only look after one that serves.
func decides(w *records.Workload, in intent) bool {
	if w.Goal != w.Target {
		return false
	}
	if in.action != actionScale && in.action != actionStart && in.action != actionStop {
		return true
	}
	serving := w.Serving()
	return serving == nil || serving.Number != w.Target || in.pin != "" && in.pin != w.Active.ReleaseID // a restart goes on
}

// serviceOf is the planner's spec of a revision.
func serviceOf(w *records.Workload, rev *records.Revision) (spec.Service, error) {
	return translate.Service(translate.Workload{
		ID: w.ID, Name: w.Name, Kind: w.Kind, Services: rev.Resolved(), Replicas: rev.Replicas, Strategy: rev.Strategy, Rollout: w.Bounds,
	})
}

// nextNonce counts what asked for new containers of the same content.
func nextNonce(nonce string) string {
	n, err := strconv.ParseUint(nonce, 10, 62)
	if err != nil {
		n = 0 // none yet
	}
	return strconv.FormatUint(n+1, 10)
}

// course is what a call runs that asks for no other content: the wanted
// revision, or once that has failed the one that serves.
func course(w *records.Workload) (rev *records.Revision, pin string) {
	if serving := w.Serving(); serving != nil && w.RolloutFailed() {
		return serving, w.Active.ReleaseID
	}
	rev = w.Wanted()
	return rev, rev.Planned
}
