package wire

import "time"

// AppState sums up an app or a service in one word.
type AppState string

// The states of apps and services, worst last.
const (
	StateReady     AppState = "ready"     // what was asked for serves
	StateDeploying AppState = "deploying" // a change is being carried out
	StateDegraded  AppState = "degraded"  // it serves, but not what was asked for last
	StateFailed    AppState = "failed"    // it does not serve
	StateDeleting  AppState = "deleting"  // it is being removed
)

// AppSummary is one line of the list of apps.
type AppSummary struct {
	Name      string    `json:"name"`
	State     AppState  `json:"state" enum:"ready,deploying,degraded,failed,deleting"`
	Services  int       `json:"services" doc:"How many services it has."`
	Ready     int       `json:"ready" doc:"How many of them are ready."`
	URLs      []string  `json:"urls,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// AppList is the answer to a request for all apps.
type AppList struct {
	Apps []AppSummary `json:"apps" nullable:"false"`
}

// AppStatus is everything known about one app.
type AppStatus struct {
	Name        string          `json:"name"`
	State       AppState        `json:"state" enum:"ready,deploying,degraded,failed,deleting"`
	CreatedAt   time.Time       `json:"created_at"`
	Services    []ServiceStatus `json:"services" nullable:"false" doc:"Sorted by name."`
	LastAttempt *Attempt        `json:"last_attempt,omitempty"`
	Tombstones  []Tombstone     `json:"tombstones,omitempty" doc:"Deleted services whose containers still have to go."`
}

// ServiceStatus is one service: what it shall be and what it is.
type ServiceStatus struct {
	Service    string   `json:"service" doc:"Short name."`
	Name       string   `json:"name" doc:"Full name."`
	State      AppState `json:"state" enum:"ready,deploying,degraded,failed,deleting"`
	Image      string   `json:"image" doc:"As asked for."`
	Replicas   int      `json:"replicas" doc:"How many shall run."`
	Strategy   string   `json:"strategy"`
	Completes  bool     `json:"completes,omitempty" doc:"It is a job: it runs to its end, and is ready once that was a success."`
	Port       int      `json:"port,omitempty"`
	URLs       []string `json:"urls,omitempty"`
	Volumes    []string `json:"volumes,omitempty" doc:"Names of its volumes."`
	Generation int64    `json:"generation"`
	// Pinned is the release a rollback chose; empty: whatever the image says.
	Pinned string `json:"pinned,omitempty" doc:"Release chosen by a rollback."`
	// Active is the release that traffic goes to; nil: none yet.
	Active      *ActiveRelease  `json:"active,omitempty"`
	Conditions  []Condition     `json:"conditions" nullable:"false"`
	LastAttempt *AttemptService `json:"last_attempt,omitempty" doc:"Outcome of the last change of this service."`
	AttemptID   int64           `json:"attempt_id,omitempty" doc:"Number of that attempt."`
}

// ActiveRelease is the release that serves, and through which containers.
type ActiveRelease struct {
	Release   string    `json:"release" doc:"Version, such as v3."`
	ID        string    `json:"id"`
	Image     string    `json:"image" doc:"As asked for."`
	Resolved  string    `json:"resolved,omitempty" doc:"Digest or image id it resolved to."`
	Since     time.Time `json:"since"`
	Targets   []Target  `json:"targets" nullable:"false"`
	Previous  string    `json:"previous,omitempty" doc:"The release that served before."`
	HeldUntil time.Time `json:"held_until,omitzero" doc:"Until when the previous release stays running."`
}

// Target is one container that serves.
type Target struct {
	Container string `json:"container"`
	Replica   int    `json:"replica"`
	Address   string `json:"address,omitempty"`
}

// Condition is one observed aspect of a service.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enum:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"last_transition_time"`
}

// Tombstone is a deleted service whose containers must still go.
type Tombstone struct {
	Service   string    `json:"service" doc:"Short name."`
	Name      string    `json:"name" doc:"Full name."`
	CreatedAt time.Time `json:"created_at"`
	Failures  int       `json:"failures,omitempty" doc:"How often removing them failed."`
	LastCause string    `json:"last_cause,omitempty" doc:"Why it failed last."`
}

// Release is the record of what runs or ran.
type Release struct {
	ID        string    `json:"id"`
	Version   string    `json:"version" doc:"Such as v3."`
	Image     string    `json:"image" doc:"As asked for."`
	Resolved  string    `json:"resolved,omitempty" doc:"Digest or image id it resolved to."`
	Local     bool      `json:"local,omitempty" doc:"No registry knows the image."`
	Active    bool      `json:"active,omitempty" doc:"Traffic goes to it."`
	Attempt   int64     `json:"attempt,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// ReleaseList is the history of a service, newest first.
type ReleaseList struct {
	Releases []Release `json:"releases" nullable:"false"`
}
