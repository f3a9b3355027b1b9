package application

import (
	"time"

	"github.com/distribution/reference"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// World is all that one pass knows. It is gathered once, then planned on.
type World struct {
	Now     time.Time
	Desired *store.DesiredService // nil: no such service
	// Attempt is this service's part of the attempt that asked for Desired;
	// nil when it is no longer on record.
	Attempt   *store.AttemptService
	AttemptAt time.Time // when that attempt was accepted
	// Failure is an effect of this attempt that was refused for good.
	Failure *Failure
	// Release is what shall run; nil until the image is resolved.
	Release *store.Release
	// Images are what the images of the desired group came to, in the order of
	// its members; meaningful while Release is nil.
	Images []ImageState
	// Secrets are the newest versions of the values that the desired group
	// names, by key; 0: there is none. Meaningful while Release is nil.
	Secrets map[string]int64
	// Dependencies are those of Release that are not there yet.
	Dependencies []Unmet
	Active       *store.ActiveRelease
	// ActiveRelease is the record of Active's release.
	ActiveRelease *store.Release
	// Mixed are further releases that take traffic: those of a rolling change
	// that was overtaken.
	Mixed []*store.Release
	// Previous is the release that was active before, while it is held.
	Previous *store.Release
	Groups   []Group // ordered by name of the first member
	Ingress  IngressView
	Timing   Timing
	// RetryAt is when a service whose first deploy failed may try again.
	RetryAt time.Time
	// Leaked are holders of addresses that have no container any more.
	Leaked []string
	// LeakedVolumes held the files of containers that are gone.
	LeakedVolumes []LeakedVolume
}

// LeakedVolume holds the files of a container that is gone.
type LeakedVolume struct{ Name, Container string }

// Unmet is a dependency that is not there yet.
type Unmet struct {
	Service string // short name
	Detail  string // what is missing, a clause
	Failed  bool   // it will not come by itself
	Quiet   bool   // nothing but another look tells that it has come
}

// Readiness is what probing has shown about a running container so far.
type Readiness struct {
	Attempts   int
	Since      time.Time // when we began to look; zero: not yet
	Due        time.Time // next probe; zero: at once
	ReadySince time.Time // first of the unbroken run of good probes; zero: not ready
	LostAt     time.Time // when a good probe was first followed by a bad one; zero: never
	Last       string    // what the last bad probe found, in a sentence
}

// Failure is why an effect cannot succeed, however often it is tried.
type Failure struct {
	Reason Reason
	Detail string
}

// ImageState is how far the resolution of an image is.
type ImageState struct {
	Ref string
	// Fetch is what to ask for where it is not present, "" for Ref: what a restart keeps
	// is another image than its tag may lead to by now.
	Fetch   string
	Present *docker.Image
	Pulling bool
	// Failure is set when the pull of this attempt failed for good.
	Failure       Reason
	FailureDetail string
	Progress      string
}

// IngressView is what the data plane last reported.
type IngressView struct {
	Known bool  // it answers, and Acked belongs to its current epoch
	Acked int64 // the route version it serves
	// Reported is the route version that InFlight belongs to. It may be behind
	// Acked: an acknowledgement can overtake a report.
	Reported int64
	InFlight map[string]TargetTraffic
}

// TargetTraffic is the traffic of one container in the data plane.
type TargetTraffic struct {
	InFlight      int
	Draining      bool
	DrainingSince time.Time
}

// Timing are the waits that are not part of a service's spec.
type Timing struct {
	// StartupWatch is how long a release without a declared probe must keep
	// running before it takes traffic.
	StartupWatch time.Duration
	// CrashLimit ends within CrashWindow make the controller take restarts
	// over from the engine.
	CrashLimit  int
	CrashWindow time.Duration
	// DrainSlack is added to a drain timeout before the data plane's own end
	// of a drain is no longer waited for.
	DrainSlack time.Duration
	// InitTimeout is how long one init may run.
	InitTimeout time.Duration
	// StopGrace is the grace of containers whose service says nothing.
	StopGrace time.Duration
	// CutoverTimeout is how long the data plane may take to take new routes
	// before the attempt is over; the routes stay wanted.
	CutoverTimeout time.Duration
	// Recheck is the longest wait for something that should wake us.
	Recheck time.Duration
}

// DefaultTiming is used where nothing else is said.
func DefaultTiming() Timing {
	return Timing{
		StartupWatch:   3 * time.Second,
		CrashLimit:     3,
		CrashWindow:    time.Minute,
		DrainSlack:     5 * time.Second,
		InitTimeout:    10 * time.Minute,
		StopGrace:      spec.DefaultStopGrace,
		CutoverTimeout: 2 * time.Minute,
		Recheck:        10 * time.Second,
	}
}

// sameContent reports whether two releases run the same containers.
func sameContent(a, b *store.Release) bool {
	return a != nil && b != nil && a.SpecHash == b.SpecHash && releaseContainer(a, 0) == releaseContainer(b, 0)
}

// target finds a container among those that take traffic.
func (w *World) target(name string) *store.ActiveTarget {
	if w.Active == nil {
		return nil
	}
	for i := range w.Active.Targets {
		if w.Active.Targets[i].Container == name {
			return &w.Active.Targets[i]
		}
	}
	return nil
}

// routed reports whether requests reach the active release by the data plane.
func (w *World) routed() bool { return w.Active != nil && len(w.Active.Route.Hosts) > 0 }

// acknowledged reports whether the data plane serves the active release as it
// is recorded now. Without a route there is nothing to acknowledge.
func (w *World) acknowledged() bool {
	if !w.routed() {
		return true
	}
	return w.Ingress.Known && w.Ingress.Acked >= w.Active.Version
}

// handsOver reports whether two releases must not run at once.
func handsOver(a, b *store.Release) bool {
	for _, r := range []*store.Release{a, b} {
		if r != nil && (r.Spec.Exclusive() || r.Spec.Strategy == spec.Recreate) {
			return true
		}
	}
	return false
}

// routeOf is how requests shall reach a service.
func routeOf(s *spec.Service) store.ActiveRoute {
	if s.Port == 0 || len(s.Domains) == 0 {
		return store.ActiveRoute{}
	}
	path := s.Path
	if path == "" {
		path = "/"
	}
	drain := s.DrainTimeout
	if s.Exclusive() || s.Strategy == spec.Recreate {
		// Requests are held while the old release drains: let that not eat up
		// all the time they may be held.
		drain = min(drain, s.HoldTimeout/2)
	}
	return store.ActiveRoute{Hosts: s.Domains, Path: path, HoldTimeout: s.HoldTimeout, DrainTimeout: drain}
}

// digestFor picks from an image's repository digests the one of the reference's
// own repository.
func digestFor(ref string, digests []string) string {
	want, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ""
	}
	for _, d := range digests {
		if got, err := reference.ParseNormalizedNamed(d); err == nil && got.Name() == want.Name() {
			return d
		}
	}
	return ""
}
