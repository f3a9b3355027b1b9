package docker

import "errors"

// The failures a caller can tell apart. Implementations wrap them with %w
// together with what was tried and on what.
var (
	// ErrNotFound: the container, network or volume does not exist.
	ErrNotFound = errors.New("not found")
	// ErrImageNotFound: neither the engine nor the registry has the image.
	ErrImageNotFound = errors.New("image not found")
	// ErrUnauthorized: the registry refused the credentials, or wants some.
	ErrUnauthorized = errors.New("registry refused the credentials")
	// ErrConflict: the name is taken, or the object is in use.
	ErrConflict = errors.New("conflict")
	// ErrPortInUse: a published host port is taken.
	ErrPortInUse = errors.New("host port in use")
	// ErrAddressInUse: the container address is taken on its network.
	ErrAddressInUse = errors.New("container address in use")
	// ErrSubnetOverlap: the subnet overlaps another network or a host route.
	ErrSubnetOverlap = errors.New("subnet overlaps")
	// ErrUnavailable: the engine did not answer.
	ErrUnavailable = errors.New("docker engine unavailable")
	// ErrNotRunning: the container exists and does not run.
	ErrNotRunning = errors.New("container is not running")
	// ErrExecNotFound: the container has no such program to execute.
	ErrExecNotFound = errors.New("program not found in the container")
	// ErrWedged: the engine lost track of a container while it started it, by a
	// crash of its own. It can never be started; it has to be removed.
	ErrWedged = errors.New("the engine lost track of the container and cannot start it any more")
	// ErrInvalid: the engine refused the request as malformed.
	ErrInvalid = errors.New("invalid request")
)

// IsNotFound reports whether err says that the object does not exist.
func IsNotFound(err error) bool { return errors.Is(err, ErrNotFound) }

// IsImageNotFound reports whether err says that the image does not exist.
func IsImageNotFound(err error) bool { return errors.Is(err, ErrImageNotFound) }

// IsConflict reports whether err says that a name is taken or an object in use.
func IsConflict(err error) bool { return errors.Is(err, ErrConflict) }

// IsNotRunning reports whether err says that the container does not run.
func IsNotRunning(err error) bool { return errors.Is(err, ErrNotRunning) }

// IsExecNotFound reports whether err says that a container lacks the program.
func IsExecNotFound(err error) bool { return errors.Is(err, ErrExecNotFound) }

// IsUnavailable reports whether the engine could not be reached.
func IsUnavailable(err error) bool { return errors.Is(err, ErrUnavailable) }
