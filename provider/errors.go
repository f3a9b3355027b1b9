package provider

import "errors"

// The errors that callers tell apart, with errors.Is. Whoever returns one wraps
// it with what was tried and on what.
var (
	// ErrNotFound means that the provider knows no such instance, service,
	// replica or release. Deprovision never returns it.
	ErrNotFound = errors.New("provider: not found")

	// ErrConflict means that what is there differs from what the call takes for
	// granted: another spec under the same instance, another version of a record.
	ErrConflict = errors.New("provider: conflict")

	// ErrBusy means that a rollout of another release is under way for the
	// instance, or of a volume that something has it. The call may be repeated when
	// that has ended.
	ErrBusy = errors.New("provider: another rollout is under way")

	// ErrNotSupported means that this provider cannot do what was asked for, now
	// or later. Nothing was changed.
	ErrNotSupported = errors.New("provider: not supported")

	// ErrUnsupportedSource means that this provider has no engine for the type of
	// deployment source. Nothing was changed.
	ErrUnsupportedSource = errors.New("provider: deployment source not supported")

	// ErrInvalid means that the request breaks a rule. A *ValidationError lists
	// every rule that it breaks. Nothing was changed.
	ErrInvalid = errors.New("provider: invalid")

	// ErrNoRecord means that the containers are there but the record of what they
	// should be is not, so that a release can neither be changed nor restored.
	ErrNoRecord = errors.New("provider: no record of the instance")

	// ErrUnavailable means that the orchestrator did not answer or cannot serve
	// now. Whether the call had an effect is not known; it may be repeated.
	ErrUnavailable = errors.New("provider: orchestrator unavailable")

	// ErrNotReady means that the call itself succeeded, and the instance then
	// failed, or was not ready in time.
	ErrNotReady = errors.New("provider: workload did not become ready")

	// ErrProviderNotFound means that a registry holds no provider of the name, or
	// that a type name fits more than one.
	ErrProviderNotFound = errors.New("provider: not registered")
)
