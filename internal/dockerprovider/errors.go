package dockerprovider

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

// failed says what failed, in the errors of package provider. nil stays nil.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", what, err)
	if known(err) {
		return err
	}
	for _, m := range []struct{ from, to error }{
		{docker.ErrUnavailable, provider.ErrUnavailable},
		{docker.ErrNotRunning, provider.ErrConflict},
		{docker.ErrInvalid, provider.ErrInvalid},
		{docker.ErrConflict, provider.ErrConflict},
		// What was just listed and is gone by now: another look will tell.
		{docker.ErrNotFound, provider.ErrUnavailable},
	} {
		if errors.Is(err, m.from) {
			return fmt.Errorf("%w: %w", m.to, err)
		}
	}
	return err
}

// known reports whether a caller can tell the error already.
func known(err error) bool {
	for _, e := range []error{
		context.Canceled, context.DeadlineExceeded, provider.ErrNotFound, provider.ErrConflict, provider.ErrBusy,
		provider.ErrNotSupported, provider.ErrInvalid, provider.ErrNoRecord, provider.ErrUnavailable, provider.ErrNotReady,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func notFound(workload id.ID) error {
	return fmt.Errorf("instance %s: %w", workload, provider.ErrNotFound)
}

func noRecord(workload id.ID) error {
	return fmt.Errorf("instance %s has containers and no record: %w", workload, provider.ErrNoRecord)
}

// lasting reports whether a pass failed for want of what every pass needs, or
// because its caller gave up: then the call has failed too. Whatever else an
// effect fails with, the next pass goes on from there.
func lasting(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, docker.ErrUnavailable) || errors.Is(err, provider.ErrUnavailable)
}
