package wire

import "time"

// WorkloadRollout is the way of a workload from one release to another.
type WorkloadRollout struct {
	ID       string `json:"id"`
	Number   int64  `json:"number"`
	Kind     string `json:"kind" enum:"initial,deploy,rollback"`
	Release  string `json:"release" doc:"Version, such as v3."`
	Base     string `json:"base,omitempty" doc:"Version that served before and that it returns to when it fails."`
	Strategy string `json:"strategy,omitempty"`
	State    string `json:"state" enum:"pending,running,succeeded,failed,rolled_back,cancelled"`
	Phase    string `json:"phase,omitempty" doc:"apply, await, undo or undo_await, while it runs."`
	// Cancelling is true from the moment somebody cancelled it.
	Cancelling bool `json:"cancelling,omitempty"`

	Services  []WorkloadProgress `json:"services" nullable:"false" doc:"Sorted by name."`
	LastError string             `json:"last_error,omitempty" doc:"Why the last call to the provider failed; it is repeated."`
	// Failure is why the release does not serve.
	Failure     *WorkloadFailure `json:"failure,omitempty" doc:"Why the release does not serve."`
	UndoFailure *WorkloadFailure `json:"undo_failure,omitempty" doc:"Why the release before it does not serve either."`

	Initiator string    `json:"initiator,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Deadline  time.Time `json:"deadline"`
}

// Ended reports whether nothing will change any more.
func (r WorkloadRollout) Ended() bool { return r.State != "pending" && r.State != "running" }

// WorkloadFailure is an error by a word for programs and a text for people.
type WorkloadFailure struct {
	Code    string `json:"code" doc:"not_ready, invalid, not_supported, unavailable and others; \"error\" where there is no word for it."`
	Message string `json:"message"`
}

// WorkloadProgress is how far a service is in a rollout.
type WorkloadProgress struct {
	Service string `json:"service"`
	State   string `json:"state" enum:"pending,running,succeeded,failed,rolled_back,cancelled"`
	Message string `json:"message,omitempty"`
}

// WorkloadRolloutList is rollouts, newest first.
type WorkloadRolloutList struct {
	Rollouts []WorkloadRollout `json:"rollouts" nullable:"false"`
	Next     string            `json:"next,omitempty" doc:"Cursor of the next page; none: this is the last."`
}

// WorkloadRelease is the record of what a workload ran, runs or was to run.
type WorkloadRelease struct {
	Version   string            `json:"version" doc:"Such as v3."`
	ID        string            `json:"id"`
	Hash      string            `json:"hash" doc:"Address of its content."`
	Images    map[string]string `json:"images" doc:"By service."`
	Current   bool              `json:"current,omitempty" doc:"It is the one whose rollout last succeeded."`
	CreatedAt time.Time         `json:"created_at"`
	ServedAt  time.Time         `json:"served_at,omitzero" doc:"When it first served; none: it never did."`
	Initiator string            `json:"initiator,omitempty"`
	Notes     string            `json:"notes,omitempty"`
}

// WorkloadReleaseList is releases, newest first.
type WorkloadReleaseList struct {
	Releases []WorkloadRelease `json:"releases" nullable:"false"`
	Next     string            `json:"next,omitempty" doc:"Cursor of the next page; none: this is the last."`
}

// The names of the events in the stream of a rollout.
const (
	EventWorkload = "workload" // data: WorkloadStatus, sent whenever it changed; the last is EventDone, with the same data
)

// Provider is something that workloads run on.
type Provider struct {
	Name         string    `json:"name"`
	Type         string    `json:"type" doc:"The orchestrator: docker, kubernetes, nomad."`
	Version      string    `json:"version,omitempty"`
	Region       string    `json:"region,omitempty"`
	Default      bool      `json:"default,omitempty" doc:"It is the one where none is named."`
	Capabilities []string  `json:"capabilities" nullable:"false" doc:"What it can do."`
	Healthy      bool      `json:"healthy" doc:"It answers."`
	Message      string    `json:"message,omitempty" doc:"What it says, or why it does not answer."`
	LatencyMS    int64     `json:"latency_ms" doc:"How long the answer took."`
	CheckedAt    time.Time `json:"checked_at,omitzero"`
}

// ProviderList is all providers, sorted by name.
type ProviderList struct {
	Providers []Provider `json:"providers" nullable:"false"`
}
