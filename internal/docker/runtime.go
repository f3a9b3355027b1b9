package docker

import (
	"context"
	"time"
)

// Runtime is one Docker engine. All methods are safe for concurrent use and
// honour the context's deadline. Containers, networks and volumes are named by
// engine id or by name, either works.
//
// Every method that changes something is idempotent where the engine allows
// it, as its comment says, so that a caller that crashed between the effect and
// the reply may call again.
type Runtime interface {
	// Info describes the engine. It is also the liveness check.
	Info(ctx context.Context) (EngineInfo, error)

	// Create makes a container and returns its id; nothing runs yet. An
	// existing container of that name is ErrConflict, a missing image is
	// ErrImageNotFound. A missing network is ErrNotFound, an address outside
	// its subnets ErrInvalid and one in use ErrAddressInUse, but older engines
	// say so only at Start. A volume that does not exist is made with
	// the labels that the spec has for it, or none: call EnsureVolume first.
	Create(ctx context.Context, spec ContainerSpec) (string, error)
	// Start starts a created or exited container. Starting a running one
	// succeeds. A published port that is taken is ErrPortInUse, an address
	// taken by another container ErrAddressInUse, a missing network
	// ErrNotFound, a program that cannot be executed ErrInvalid. A container
	// whose start an engine crashed in may answer ErrWedged from then on.
	Start(ctx context.Context, container string) error
	// Stop asks the container to end with its stop signal and kills it after
	// grace (rounded up to whole seconds). Stopping a stopped one succeeds.
	// The call returns when the container has ended.
	Stop(ctx context.Context, container string, grace time.Duration) error
	// Remove deletes a container that is not running, with its anonymous
	// volumes. A running one is ErrConflict; a missing one succeeds.
	Remove(ctx context.Context, container string) error
	// Signal sends a signal, "HUP" or "SIGHUP" or a number, to the main process,
	// and does not wait for what it does. "" is KILL, an unknown one
	// ErrInvalid. A container that does not run is ErrNotRunning. Engines take
	// any signal for a wish that the container ends: its restart policy may not
	// bring it back after this run.
	Signal(ctx context.Context, container, signal string) error
	// Update changes the restart policy or limits of a container in place. A
	// limit of zero keeps the present one: engines cannot take a limit away.
	Update(ctx context.Context, container string, change ContainerUpdate) error
	// Inspect returns the full state of one container, or ErrNotFound.
	Inspect(ctx context.Context, container string) (*ContainerState, error)
	// List returns all containers, running or not, that carry every one of
	// the labels ("" as a value matches any value), in one engine call. The
	// states lack what only Inspect knows: see ContainerState.
	List(ctx context.Context, labels map[string]string) ([]ContainerState, error)
	// Logs streams whole lines, each with its time and stream, in order, until
	// the log ends, follow is off and its end is reached, fn returns an error
	// (which Logs then returns), or ctx is done.
	Logs(ctx context.Context, container string, opts LogOptions, fn func(LogLine) error) error
	// Stats takes one sample of what a running container uses. It takes a
	// second or two, since a rate needs two readings. A container that does
	// not run, or ends meanwhile, is ErrNotRunning.
	Stats(ctx context.Context, container string) (Stats, error)
	// Exec runs a command in a running container and returns its exit code
	// once it ended and its outputs were read to their end. A command ended by
	// a signal has 128 and its number. A container that does not run is
	// ErrNotRunning, a program that is not in it ErrExecNotFound, one that
	// cannot be executed, an unknown user or a missing working directory
	// ErrInvalid.
	//
	// Once ctx is done the attachment is given up at once and ctx's error
	// returned; the command may live on in the container. An error of a writer
	// does the same. An exec is not idempotent: one that failed with
	// ErrUnavailable may have run.
	Exec(ctx context.Context, container string, e ExecSpec) (int, error)
	// CopyInto writes files below a directory of a container that is created,
	// running or ended; where a volume is mounted they land in the volume. What
	// has their names is replaced, missing directories between are made, owned
	// by root with mode 0o755. A missing container or dir is ErrNotFound, a
	// path that leads out of dir ErrInvalid, as is a dir on a read-only root
	// or mount. A failure may leave some of the files.
	CopyInto(ctx context.Context, container, dir string, files []File) error
	// Events delivers container events that match the labels until ctx is
	// done or the stream breaks; it returns the reason. It calls ready once the
	// subscription stands, so that a caller can list after it.
	Events(ctx context.Context, labels map[string]string, ready func(), fn func(Event)) error

	// Image returns the identity of an image present on the engine, by
	// reference, digest reference or image id; ErrImageNotFound when absent.
	Image(ctx context.Context, ref string) (*Image, error)
	// Pull fetches an image. An error inside the engine's progress stream is
	// an error. An unknown image is ErrImageNotFound, refused credentials
	// ErrUnauthorized. progress may be nil.
	Pull(ctx context.Context, ref string, auth *RegistryAuth, progress func(PullProgress)) error

	// EnsureVolume creates the named volume or accepts an existing one whose
	// labels agree; a volume that carries another owner's labels is ErrConflict.
	EnsureVolume(ctx context.Context, spec VolumeSpec) error
	// ListVolumes lists volumes by label, as List does for containers.
	ListVolumes(ctx context.Context, labels map[string]string) ([]Volume, error)
	// RemoveVolume deletes a volume; a missing one succeeds, one in use is ErrConflict.
	RemoveVolume(ctx context.Context, name string) error
	// VolumeSizes measures how many bytes each volume of the engine holds, by name.
	// One that the engine cannot measure is left out. It reads every file there is
	// in volumes, so that it may take long.
	VolumeSizes(ctx context.Context) (map[string]int64, error)

	// CreateNetwork makes a bridge network with the given subnet, whose first
	// address becomes the gateway. An existing one of that name is
	// ErrConflict, a subnet that overlaps another network's ErrSubnetOverlap.
	// Engines need not look at the host's routes; that is the caller's to do.
	CreateNetwork(ctx context.Context, spec NetworkSpec) (string, error)
	// ListNetworks returns every network of the engine when labels is empty,
	// else those that carry them, with the containers attached.
	ListNetworks(ctx context.Context, labels map[string]string) ([]NetworkDetail, error)
	// RemoveNetwork deletes a network; a missing one succeeds, one with
	// containers attached is ErrConflict.
	RemoveNetwork(ctx context.Context, network string) error
}

// ExitStateInspector is a runtime that can tell how a container ended.
type ExitStateInspector interface {
	ExitState(ctx context.Context, container string) (*ExitState, error)
}
