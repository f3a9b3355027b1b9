package store

import (
	"net/netip"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
)

// App is a desired app. It exists until its deletion has been carried out.
type App struct {
	Name      string
	CreatedAt time.Time
	Deleting  bool
}

// DesiredService is what one service shall be.
type DesiredService struct {
	Name       string // full name, app + "-" + service; unique over all apps
	AppID      string
	Image      string // as asked for; the same as Spec.Image
	Spec       spec.Service
	Generation int64 // grows by one with every accepted change
	// RestartNonce differs after each restart that was asked for; empty: none yet.
	RestartNonce string
	// LocalImageID is the image id of a local build, part of its identity.
	LocalImageID string
	Replicas     int
	// ReleaseID pins the release to run, set by a rollback; empty lets the
	// controller resolve Image and write a release.
	ReleaseID string
	// AttemptID is the attempt that asked for this generation.
	AttemptID       int64
	Suspended       bool // no container stays
	Stopped         bool // containers stay, and none runs
	MaintenanceHold bool
	UpdatedAt       time.Time
}

// Release is the immutable record of what runs or ran.
type Release struct {
	ID       string // service + "-v" + version
	Service  string // full name
	AppID    string
	Version  int64  // 1, 2, 3 … per service
	Image    string // as asked for
	Resolved string // repository@digest, or the image id of a local image
	ImageID  string // the content's id on the node that resolved it
	Local    bool   // no registry knows it
	// Members are the images of inits and sidecars, in the order of the spec.
	Members  []MemberImage
	Spec     spec.Service
	SpecHash string // full hash, hex; never recomputed
	// RestartNonce is the service's at the time.
	RestartNonce string
	// Nonce is what container names hash beside the image.
	Nonce     string
	AttemptID int64
	CreatedAt time.Time
}

// MemberImage is what the image of an init or a sidecar came to.
type MemberImage struct {
	Name     string `json:"name"`
	Image    string `json:"image"`
	Resolved string `json:"resolved"`
	ImageID  string `json:"image_id"`
	Local    bool   `json:"local,omitempty"`
}

// VersionOf is the version in a release's id as people write it, "v3"; "" when
// the id has none.
func VersionOf(releaseID string) string {
	i := strings.LastIndex(releaseID, "-v")
	if i < 0 {
		return ""
	}
	return releaseID[i+1:]
}

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

// AttemptKind is what was asked for.
type AttemptKind string

// The kinds of attempt.
const (
	AttemptApply    AttemptKind = "apply"
	AttemptRollback AttemptKind = "rollback"
	AttemptDelete   AttemptKind = "delete"
	AttemptRestart  AttemptKind = "restart"
	AttemptScale    AttemptKind = "scale"
)

// Attempt is one accepted change of an app. Its state follows from its
// services: running until all are final, failed if any failed, superseded if
// any was and none failed, else succeeded.
type Attempt struct {
	ID         int64
	AppID      string
	Kind       AttemptKind
	State      AttemptState
	CreatedAt  time.Time
	FinishedAt time.Time // zero while not final
	Services   []AttemptService
}

// AttemptService is the part of an attempt that concerns one service.
type AttemptService struct {
	AttemptID  int64
	Service    string // full name
	Action     string // "create", "update", "delete", "scale", "route", "retry", "restart"
	State      AttemptState
	Reason     string // typed reason, set when final
	Message    string
	ReleaseID  string // once written
	UpdatedAt  time.Time
	DeadlineAt time.Time // zero: none
}

// ActiveRelease is the release that traffic goes to, and through which
// containers. It changes only by [Store.SetActiveRelease].
type ActiveRelease struct {
	Service   string
	AppID     string
	ReleaseID string
	Targets   []ActiveTarget // ordered by replica
	Replicas  int            // how many shall serve; Targets may be fewer for a while
	Route     ActiveRoute    // no hosts: not routed
	// Version orders all changes of all active releases and routes. The data
	// plane's acknowledgement of a version covers all up to it.
	Version int64
	// Since is when this release became the active one, unchanged by a change
	// of its targets.
	Since time.Time
	// PreviousID is the release that was active before, and HeldUntil when its
	// containers may go; zero HeldUntil: not held.
	PreviousID string
	HeldUntil  time.Time
}

// ActiveTarget is one container that takes traffic.
type ActiveTarget struct {
	Container string // name
	Replica   int
	Address   netip.AddrPort // invalid for a service without a port
	Node      string         // the id of the node that it runs on; "" is this machine
}

// ActiveRoute is how requests reach the active release.
type ActiveRoute struct {
	Hosts        []string
	Path         string
	HoldTimeout  time.Duration
	DrainTimeout time.Duration
}

// RouteState is what the data plane shall know, read at one moment.
type RouteState struct {
	Version int64 // the newest route version taken
	Active  []ActiveRelease
}

// TraceEvent is one step of a deploy.
type TraceEvent struct {
	ID        int64 // order of all events
	AttemptID int64 // 0: not part of an attempt
	Service   string
	Time      time.Time
	// Phase is "pull", "resolve", "create", "start", "probe", "hold", "cutover",
	// "drain", "restart", "stop" or "remove", and last "done" or "failed".
	Phase     string
	Status    string // "started", "passed" or "failed"
	Message   string
	Container string
}

// Subnet is the address range of one app's network.
type Subnet struct {
	AppID  string
	Prefix netip.Prefix
}

// Address is a container address held or resting.
type Address struct {
	AppID     string
	IP        netip.Addr
	Container string // name of the holder, kept while it rests
	// FreedAt is when the holder was removed; zero while it is held.
	FreedAt time.Time
	// FreedVersion is the route version at which no table named it any more.
	FreedVersion int64
}

// PendingTeardown is a tombstone: a service whose containers must still go.
type PendingTeardown struct {
	Name      string // full service name
	AppID     string
	NodeID    string // "" is this machine
	AttemptID int64
	CreatedAt time.Time
	Failures  int
	LastCause string
}

// KeptLog is the end of the log of a container that was removed.
type KeptLog struct {
	Container string
	Service   string
	ReleaseID string
	Replica   int
	Started   time.Time
	RemovedAt time.Time
	Lines     []byte // newline-delimited JSON of docker.LogLine, at most 1 MiB
}
