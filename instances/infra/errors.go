package infra

import (
	"errors"
	"fmt"
	"time"
)

// What a provider's errors are, for errors.Is. An error of a provider's own
// client is wrapped by one of these; what fits none is returned as it is and
// counts as ErrAmbiguous after a create. No error holds user data.
var (
	// ErrInstanceNotFound: the provider says that the instance has no machine.
	ErrInstanceNotFound = errors.New("infra: no machine of this instance")
	// ErrConflict: the instance id has a machine of other bytes, or one that is
	// going or gone. Repeating the call does not help; a new id does.
	ErrConflict = errors.New("infra: this instance id was used before")
	// ErrThrottled: too many calls; nothing was done. RetryAfter says when again.
	ErrThrottled = errors.New("infra: the provider asks for fewer calls")
	// ErrNoCapacity: the provider, or the subnet, has no room; nothing was made.
	ErrNoCapacity = errors.New("infra: the provider has no capacity")
	// ErrInvalidRequest: it can never work as it is; nothing was done.
	ErrInvalidRequest = errors.New("infra: invalid request")
	// ErrUnavailable: the provider was not reached, and this call did nothing.
	ErrUnavailable = errors.New("infra: the provider is not available")
	// ErrAmbiguous: the call was sent and its answer was lost. Repeat it with the
	// same bytes, or look the instance up by its id.
	ErrAmbiguous = errors.New("infra: the call may have taken effect")
	// ErrNotBuilt: the kind is known, and no driver for it is part of Berth.
	ErrNotBuilt = errors.New("infra: this kind of provider is not built yet")
	// ErrUnknownKind: no kind of that name exists.
	ErrUnknownKind = errors.New("infra: unknown kind of provider")
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalidRequest, fmt.Errorf(format, args...))
}

// ThrottledError is an ErrThrottled that knows when to come back.
type ThrottledError struct {
	// After is how long to wait before the next call, 0 when nobody said.
	After time.Duration
}

// Error says how long to wait.
func (e *ThrottledError) Error() string {
	if e.After <= 0 {
		return ErrThrottled.Error()
	}
	return fmt.Sprintf("%v; again in %v", ErrThrottled, e.After)
}

// Unwrap is ErrThrottled.
func (*ThrottledError) Unwrap() error { return ErrThrottled }

// RetryAfter is how long the provider asks to wait, and whether it said.
func RetryAfter(err error) (time.Duration, bool) {
	var throttled *ThrottledError
	if errors.As(err, &throttled) && throttled.After > 0 {
		return throttled.After, true
	}
	return 0, false
}

// IsNotFound reports whether the provider says that there is no such machine.
func IsNotFound(err error) bool { return errors.Is(err, ErrInstanceNotFound) }

// IsConflict reports whether the instance id was used for something else.
func IsConflict(err error) bool { return errors.Is(err, ErrConflict) }

// Retryable reports whether the same call, with the same bytes, may succeed
// later by itself.
func Retryable(err error) bool {
	return errors.Is(err, ErrThrottled) || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, ErrNoCapacity) || errors.Is(err, ErrAmbiguous)
}

// PerhapsCreated reports whether the create that ended with err may have made a
// machine all the same. It is true for every error that does not say otherwise,
// so for a deadline and for errors of unknown making too. False speaks of this
// call alone: one before it may have made the machine.
func PerhapsCreated(err error) bool {
	if err == nil {
		return true
	}
	if errors.Is(err, ErrAmbiguous) {
		return true
	}
	for _, nothing := range []error{ErrConflict, ErrThrottled, ErrNoCapacity, ErrInvalidRequest, ErrUnavailable, ErrNotBuilt, ErrUnknownKind} {
		if errors.Is(err, nothing) {
			return false
		}
	}
	return true
}
