package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var (
	// ErrCancelled is the error of a rollout that was cancelled.
	ErrCancelled = errors.New("rollout: cancelled")

	// ErrRecord means that a record is there and cannot be read: it is damaged, or a
	// later version of Berth wrote it. Nothing is done without it.
	ErrRecord = errors.New("rollout: unreadable record")
)

// BusyError is the provider.ErrBusy of this package: it names the rollout that
// is under way.
type BusyError struct {
	Workload id.ID
	Rollout  id.ID
}

// Error names both.
func (e *BusyError) Error() string {
	return fmt.Sprintf("workload %s: rollout %s is under way", e.Workload, e.Rollout)
}

// Is makes it a provider.ErrBusy.
func (e *BusyError) Is(target error) bool { return target == provider.ErrBusy }

// Failure is an error that a record keeps. With errors.Is it is still the error of
// package provider, or of package context, that it was.
type Failure struct {
	// Code is the word for what it is, and "error" when there is none.
	Code string `json:"code"`

	Message string `json:"message"`
}

// maxMessage bounds what a record keeps of one error, in bytes.
const maxMessage = 2 << 10

// codes are the words for the errors that a Failure stays.
var codes = []struct {
	code string
	err  error
}{
	{"not_ready", provider.ErrNotReady},
	{"invalid", provider.ErrInvalid},
	{"not_supported", provider.ErrNotSupported},
	{"unsupported_source", provider.ErrUnsupportedSource},
	{"not_found", provider.ErrNotFound},
	{"no_record", provider.ErrNoRecord},
	{"conflict", provider.ErrConflict},
	{"busy", provider.ErrBusy},
	{"unavailable", provider.ErrUnavailable},
	{"provider_not_found", provider.ErrProviderNotFound},
	{"deadline_exceeded", context.DeadlineExceeded},
	{"canceled", context.Canceled},
}

const codeOther = "error"

// failureOf keeps err.
func failureOf(err error) *Failure {
	f := &Failure{Code: codeOther, Message: clip(err.Error(), maxMessage)}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			f.Code = c.code
			break
		}
	}
	return f
}

// Error is the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap is the error that it was, nil when that was none of those that callers
// tell apart.
func (f *Failure) Unwrap() error {
	for _, c := range codes {
		if c.code == f.Code {
			return c.err
		}
	}
	return nil
}

// Err is nil while the rollout is open and when it succeeded. Otherwise it says why
// not and wraps the cause, ErrCancelled where somebody cancelled it.
func (r *Rollout) Err() error {
	var err error
	switch r.State {
	case StateCancelled:
		err = ErrCancelled
	case StateFailed, StateRolledBack:
		if r.Failure == nil { // a cancelled one whose undo failed
			err = ErrCancelled
		} else {
			err = r.Failure
		}
	default:
		return nil
	}
	err = fmt.Errorf("rollout %s of release %d %s: %w", r.ID, r.ReleaseVersion, strings.ReplaceAll(string(r.State), "_", " "), err)
	if r.UndoFailure != nil {
		err = fmt.Errorf("%w; and the release before it did not come back: %w", err, r.UndoFailure)
	}
	return err
}

// clip cuts s at a whole character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
