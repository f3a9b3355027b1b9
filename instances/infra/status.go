package infra

import "slices"

// Status is where a machine is in its life.
type Status string

// The statuses. What a provider says and none of them fits is StatusUnknown,
// about which nobody does anything but look again.
const (
	StatusPending    Status = "pending"
	StatusRunning    Status = "running"
	StatusStopping   Status = "stopping"
	StatusStopped    Status = "stopped"
	StatusSuspending Status = "suspending"
	StatusSuspended  Status = "suspended"
	StatusDeleting   Status = "deleting"
	StatusDeleted    Status = "deleted"
	StatusRepairing  Status = "repairing"
	StatusUnknown    Status = "unknown"
)

// Statuses are all of them.
func Statuses() []Status {
	return []Status{
		StatusPending, StatusRunning, StatusStopping, StatusStopped, StatusSuspending,
		StatusSuspended, StatusDeleting, StatusDeleted, StatusRepairing, StatusUnknown,
	}
}

// ParseStatus reads a status; what is none is StatusUnknown.
func ParseStatus(s string) Status {
	if slices.Contains(Statuses(), Status(s)) {
		return Status(s)
	}
	return StatusUnknown
}

// Gone reports whether the machine is no more. It is the only status that is as
// good as ErrInstanceNotFound.
func (s Status) Gone() bool { return s == StatusDeleted }

// Leaving reports whether the machine is gone or cannot be kept from going.
func (s Status) Leaving() bool { return s == StatusDeleting || s == StatusDeleted }

// Unhealthy reports whether a machine that should run needs to be replaced.
// Neither pending nor unknown is: the one has its deadline, the other is no fact.
func (s Status) Unhealthy() bool {
	switch s {
	case StatusStopping, StatusStopped, StatusSuspending, StatusSuspended,
		StatusDeleting, StatusDeleted, StatusRepairing:
		return true
	}
	return false
}
