package application

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// ActionKind names one effect.
type ActionKind int

// The effects a plan may ask for, in the order of a service's life.
const (
	ActPull          ActionKind = 1  // begin to fetch the image; does not wait
	ActWriteRelease  ActionKind = 2  // record what shall run
	ActEnsureNetwork ActionKind = 3  // the app's network stands
	ActEnsureVolume  ActionKind = 4  // the named volume stands
	ActCreate        ActionKind = 5  // make the container, at an address of its own
	ActStart         ActionKind = 6  // start it
	ActSetRestart    ActionKind = 7  // who restarts it: the engine or we
	ActSetActive     ActionKind = 8  // where traffic goes
	ActStop          ActionKind = 9  // SIGTERM, grace, kill
	ActRemove        ActionKind = 10 // keep its log, remove it
	ActFreeAddress   ActionKind = 11 // let the address of a lost container rest
	ActAttempt       ActionKind = 12 // record how the attempt went
	ActNoteRetry     ActionKind = 13 // first deploy failed: try again later
	ActFill          ActionKind = 14 // put its files into a container that has not run
	ActRemoveVolume  ActionKind = 15 // the files of a container that is gone
)

var actionNames = map[ActionKind]string{
	ActPull: "pull", ActWriteRelease: "write-release", ActEnsureNetwork: "ensure-network",
	ActEnsureVolume: "ensure-volume", ActCreate: "create", ActStart: "start", ActSetRestart: "set-restart",
	ActSetActive: "set-active", ActStop: "stop", ActRemove: "remove", ActFreeAddress: "free-address",
	ActAttempt: "attempt", ActNoteRetry: "note-retry", ActFill: "fill", ActRemoveVolume: "remove-volume",
}

// String is the kind's name in plans and traces.
func (k ActionKind) String() string { return actionNames[k] }

// Action is one effect as data.
type Action struct {
	Kind      ActionKind
	Container string // name
	Member    string // which member of the release's spec the container is
	Replica   int
	Volume    string
	Release   *store.Release
	Active    *store.ActiveRelease
	Attempt   *store.AttemptService
	Policy    docker.RestartPolicy
	Grace     time.Duration
	Why       string
}

// String is one line for golden plans and logs.
func (a Action) String() string {
	s := a.Kind.String()
	switch a.Kind {
	case ActWriteRelease:
		s += " " + a.Release.Image
	case ActSetActive:
		s += " " + a.Active.ReleaseID
		for _, t := range a.Active.Targets {
			s += " " + t.Container
		}
	case ActSetRestart:
		s += fmt.Sprintf(" %s %s", a.Container, a.Policy)
	case ActStop:
		s += fmt.Sprintf(" %s grace=%s", a.Container, a.Grace)
	case ActAttempt:
		s += fmt.Sprintf(" %s %s", a.Attempt.State, a.Attempt.Reason)
	case ActEnsureVolume, ActRemoveVolume:
		s += " " + a.Volume
	case ActPull, ActEnsureNetwork, ActNoteRetry:
	case ActCreate, ActFill, ActStart, ActRemove, ActFreeAddress:
		s += " " + a.Container
	}
	if a.Why != "" {
		s += " (" + a.Why + ")"
	}
	return s
}

// Plan is the answer of [PlanPass].
type Plan struct {
	Actions   []Action
	Condition reconcile.Condition // type Ready
	// Requeue is when to look again; 0: nothing is waited for.
	Requeue time.Duration
}
