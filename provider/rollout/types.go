package rollout

import (
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// Release is what a workload ran, runs or was to run: every service, whole. Its
// content never changes once it is recorded.
type Release struct {
	ID       id.ID `json:"id"`
	Workload id.ID `json:"workload"`

	// Version counts the releases of the workload, from 1. It is used once.
	Version int64 `json:"version"`

	// Hash is the address of the content: "sha256:" and 64 hexadecimal digits.
	// Within a workload one content has one release.
	Hash string `json:"hash"`

	Services  []provider.ServiceSnapshot `json:"services"`
	CreatedAt time.Time                  `json:"created_at"`
	Initiator string                     `json:"initiator,omitempty"`
	Notes     string                     `json:"notes,omitempty"`

	// Ref is the id that the provider last served it under, and ID before it
	// served. It is another one when content that the workload had before was deployed
	// again: a provider takes an id for one rollout only.
	Ref id.ID `json:"ref"`

	// ServedAt is when a rollout of it first succeeded, nil before.
	ServedAt *time.Time `json:"served_at,omitempty"`
}

// State is where a rollout is; doc.go draws how it may move.
type State string

const (
	// StatePending means that it is recorded and nothing was done.
	StatePending State = "pending"
	// StateRunning means that it is on its way, forwards or back.
	StateRunning State = "running"
	// StateSucceeded means that its release serves.
	StateSucceeded State = "succeeded"
	// StateFailed means that its release does not serve and nothing else was
	// brought back, because there was nothing or that failed too.
	StateFailed State = "failed"
	// StateRolledBack means that it failed and the release before it serves again.
	StateRolledBack State = "rolled_back"
	// StateCancelled means that somebody cancelled it, and the release before it,
	// if there was one, serves again.
	StateCancelled State = "cancelled"
)

// Ended reports whether nothing will change any more.
func (s State) Ended() bool { return s != StatePending && s != StateRunning }

// Phase is the intent that a running rollout has written down.
type Phase string

const (
	// PhaseApply means that the provider is, or was, about to be asked for the
	// release.
	PhaseApply Phase = "apply"
	// PhaseAwait means that the provider accepted the release.
	PhaseAwait Phase = "await"
	// PhaseUndo means that the provider is, or was, about to be asked for the
	// release before.
	PhaseUndo Phase = "undo"
	// PhaseUndoAwait means that the provider accepted the release before.
	PhaseUndoAwait Phase = "undo_await"
)

// Kind says what a rollout came from.
type Kind string

const (
	// KindInitial is the first release of a workload.
	KindInitial Kind = "initial"
	// KindDeploy is a change.
	KindDeploy Kind = "deploy"
	// KindRollback is the return to a release that served before.
	KindRollback Kind = "rollback"
)

// StrategyInitial is the strategy that the record of a first rollout names.
const StrategyInitial = "initial"

// Rollout is the way from one release to another.
type Rollout struct {
	ID       id.ID `json:"id"`
	Workload id.ID `json:"workload"`

	// Number counts the rollouts of the workload, from 1.
	Number int64 `json:"number"`

	Kind           Kind  `json:"kind"`
	Release        id.ID `json:"release"`
	ReleaseVersion int64 `json:"release_version"`

	// Ref is the id that the provider is asked for the release under.
	Ref id.ID `json:"ref"`

	// Base is the release that served when it was recorded, and that an undo
	// returns to; nil when none had.
	Base id.ID `json:"base,omitzero"`

	// Strategy is as in provider.DeployRequest, or StrategyInitial.
	Strategy string `json:"strategy,omitempty"`

	// Bounds are as in provider.DeployRequest.
	Bounds *provider.RolloutSpec `json:"bounds,omitempty"`

	State State `json:"state"`
	Phase Phase `json:"phase,omitempty"`

	// CancelWanted is the desired state: whoever drives the rollout ends it as
	// soon as it sees this.
	CancelWanted bool `json:"cancel_wanted,omitempty"`

	// Undoing says what an undo is for, StateRolledBack or StateCancelled: the
	// state that it ends in.
	Undoing State `json:"undoing,omitempty"`

	// Services is how far each service is, by name.
	Services map[string]Progress `json:"services,omitempty"`

	Initiator string     `json:"initiator,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	// Deadline is when it has failed at the latest. The way back has a deadline
	// of its own, Until.
	Deadline time.Time `json:"deadline"`

	// Until is when the phase it is in has failed.
	Until *time.Time `json:"until,omitempty"`

	// Attempts counts the calls that failed in this phase, and RetryAt is when
	// the next one is due.
	Attempts int        `json:"attempts,omitempty"`
	RetryAt  *time.Time `json:"retry_at,omitempty"`

	// LastError is why the last call failed that will be repeated.
	LastError *Failure `json:"last_error,omitempty"`

	// Failure is why the release does not serve, UndoFailure why the one before
	// it does not.
	Failure     *Failure `json:"failure,omitempty"`
	UndoFailure *Failure `json:"undo_failure,omitempty"`

	// Restore makes PhaseApply ask for the release as one that the provider has
	// served.
	Restore bool `json:"restore,omitempty"`

	// Untouched means that it failed before anything was changed.
	Untouched bool `json:"untouched,omitempty"`

	// Request recognises a repetition.
	Request *Request `json:"request,omitempty"`

	// Moves counts the writes of this rollout. Whoever wants to write the next one
	// compares it.
	Moves int64 `json:"moves,omitempty"`

	// Asked counts how often the provider was asked for the release of the present
	// direction anew.
	Asked int `json:"asked,omitempty"`

	// ProviderRef is the provider's handle, for people.
	ProviderRef string `json:"provider_ref,omitempty"`

	// Journal is what was intended, oldest first, the last maxJournal entries.
	Journal []Entry `json:"journal,omitempty"`
}

// Request is what a rollout was asked for with.
type Request struct {
	ReleaseID id.ID `json:"release_id"`

	// Digest is the hash of the services that were listed.
	Digest string `json:"digest"`
}

// Entry is one intent, written before its effect.
type Entry struct {
	At    time.Time `json:"at"`
	Phase Phase     `json:"phase"`
	Note  string    `json:"note,omitempty"`
}

// Progress is how far one service is.
type Progress struct {
	State State `json:"state"`

	// Message is for people.
	Message string `json:"message,omitempty"`
}

// Ended reports whether the rollout has ended.
func (r *Rollout) Ended() bool { return r.State.Ended() }
