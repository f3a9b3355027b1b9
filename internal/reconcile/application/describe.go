package application

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// describe words an action for the deploy trace; "" leaves it out.
func describe(a *Action) (phase, text string) {
	switch a.Kind {
	case ActPull:
		return "pull", "fetching image " + a.Why
	case ActWriteRelease:
		if a.Release.Local {
			return "resolve", "image " + a.Release.Image + " is a local build, " + shortID(a.Release.ImageID)
		}
		return "resolve", "image " + a.Release.Image + " is " + a.Release.Resolved
	case ActCreate:
		return "create", "container " + a.Container + " made"
	case ActStart:
		if a.Why != "" {
			return "start", "container " + a.Container + " started: " + a.Why
		}
		return "start", "container " + a.Container + " started"
	case ActSetActive:
		return describeActive(a)
	case ActStop:
		return "stop", "container " + a.Container + " stopped: " + a.Why
	case ActRemove:
		return "remove", "container " + a.Container + " removed, its log is kept"
	case ActAttempt:
		if a.Attempt.State == store.AttemptFailed {
			return "failed", a.Attempt.Reason + ": " + a.Attempt.Message
		}
		return "done", a.Attempt.Message
	case ActSetRestart:
		if a.Why != "" {
			return "restart", "restarts of " + a.Container + " are taken over: " + a.Why
		}
	case ActEnsureNetwork, ActEnsureVolume, ActFreeAddress, ActNoteRetry, ActFill, ActRemoveVolume:
	}
	return "", ""
}

// next words what is waited for once an action is done; "" is nothing.
func next(a *Action) (phase, text string) {
	switch {
	case a.Kind == ActStart && a.Release != nil && (a.Release.Spec.Completes() || specOf(a.Release, a.Member).Role == spec.RoleInit):
		return "probe", "waiting until " + a.Container + " has run to its end"
	case a.Kind == ActStart && a.Release != nil:
		return "probe", "waiting until " + a.Container + " is ready"
	case a.Kind == ActSetActive && a.Why == "cutover" && a.Active.PreviousID != "" && !handsOver(a.Release, nil):
		return "drain", "requests on the release before it may end"
	}
	return "", ""
}

func describeActive(a *Action) (phase, text string) {
	if a.Why == whyCompleted {
		return "", "" // the end of the attempt says so
	}
	if len(a.Active.Targets) == 0 && len(a.Active.Route.Hosts) == 0 {
		return "hold", "it is out of service: " + a.Why
	}
	if len(a.Active.Targets) == 0 {
		return "hold", "traffic is held: " + a.Why
	}
	text = fmt.Sprintf("traffic goes to %s of %s", replicas(len(a.Active.Targets)), a.Active.ReleaseID)
	switch a.Why {
	case "cutover":
	case whyRolling:
		text = fmt.Sprintf("traffic goes to %s, old ones and new ones", replicas(len(a.Active.Targets)))
	default:
		text += ": " + a.Why
	}
	return "cutover", text
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func shortID(id string) string {
	if len(id) > 19 {
		return id[:19]
	}
	return id
}

const maxTraceMessage = 4 << 10

// traceOf is the row that a person following the deploy reads.
func (c *Controller) traceOf(w *World, a *Action, err error, took time.Duration) store.TraceEvent {
	phase, text := describe(a)
	if phase == "" {
		return store.TraceEvent{}
	}
	e := store.TraceEvent{Service: c.service, Time: c.now(), Phase: phase, Status: "passed", Message: text, Container: a.Container}
	if w.Attempt != nil {
		e.AttemptID = w.Attempt.AttemptID
	}
	switch {
	case err != nil:
		e.Status, e.Message = "failed", err.Error()
	case a.Kind == ActPull:
		e.Status = "started" // it goes on beside the passes
	case a.Kind == ActAttempt && a.Attempt.State == store.AttemptFailed:
		e.Status = "failed"
	case a.Kind == ActCreate || a.Kind == ActStart || a.Kind == ActStop:
		e.Message += fmt.Sprintf(" (%s)", took.Round(time.Millisecond))
	}
	e.Message = truncate(e.Message, maxTraceMessage)
	return e
}
