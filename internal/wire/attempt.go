package wire

import "time"

// AttemptState is where an attempt, or one service of it, is.
type AttemptState string

// The states; the last three are final.
const (
	AttemptQueued     AttemptState = "queued"
	AttemptRunning    AttemptState = "running"
	AttemptSucceeded  AttemptState = "succeeded"
	AttemptFailed     AttemptState = "failed"
	AttemptSuperseded AttemptState = "superseded"
)

// Final reports whether the state never changes again.
func (s AttemptState) Final() bool {
	return s == AttemptSucceeded || s == AttemptFailed || s == AttemptSuperseded
}

// Attempt is one accepted change of an app.
type Attempt struct {
	ID         int64            `json:"id"`
	App        string           `json:"app"`
	Kind       string           `json:"kind" enum:"apply,rollback,delete,restart,scale"`
	State      AttemptState     `json:"state" enum:"queued,running,succeeded,failed,superseded"`
	CreatedAt  time.Time        `json:"created_at"`
	FinishedAt time.Time        `json:"finished_at,omitzero"`
	Services   []AttemptService `json:"services" nullable:"false"`
}

// AttemptService is the part of an attempt that concerns one service.
type AttemptService struct {
	Service    string       `json:"service" doc:"Short name."`
	Name       string       `json:"name" doc:"Full name."`
	Action     Action       `json:"action"`
	State      AttemptState `json:"state" enum:"queued,running,succeeded,failed,superseded"`
	Reason     string       `json:"reason,omitempty" doc:"Typed reason, set when the state is final."`
	Message    string       `json:"message,omitempty" doc:"What happened, for people; may have several lines."`
	Release    string       `json:"release,omitempty" doc:"Version of the release, such as v3."`
	UpdatedAt  time.Time    `json:"updated_at,omitzero"`
	DeadlineAt time.Time    `json:"deadline_at,omitzero"`
}

// TraceEvent is one step of a deploy.
type TraceEvent struct {
	ID        int64     `json:"id" doc:"Order of all events; resume a stream with the last one seen."`
	Attempt   int64     `json:"attempt,omitempty"`
	Service   string    `json:"service" doc:"Short name."`
	Time      time.Time `json:"time"`
	Phase     string    `json:"phase" doc:"pull, resolve, create, start, probe, hold, cutover, drain, restart, stop, remove, done or failed."`
	Status    string    `json:"status,omitempty" doc:"started, passed or failed."`
	Message   string    `json:"message,omitempty"`
	Container string    `json:"container,omitempty"`
}

// The names of the events in the stream of an attempt.
const (
	EventTrace   = "trace"   // data: TraceEvent; id: its id
	EventAttempt = "attempt" // data: Attempt, sent whenever it changed
	EventDone    = "done"    // data: Attempt in its final state; the last event
)
