package infra_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

func TestOnlyWhatSaysSoMadeNothing(t *testing.T) {
	for _, row := range []struct {
		err                error
		perhaps, retryable bool
	}{
		{infra.ErrConflict, false, false},
		{&infra.ThrottledError{After: time.Second}, false, true},
		{infra.ErrNoCapacity, false, true},
		{infra.ErrInvalidRequest, false, false},
		{infra.ErrUnavailable, false, true},
		{infra.ErrNotBuilt, false, false},
		{infra.ErrUnknownKind, false, false},
		{infra.ErrAmbiguous, true, true},
		{infra.ErrInstanceNotFound, true, false},
		{context.DeadlineExceeded, true, false},
		{errors.New("something new"), true, false},
		{fmt.Errorf("%w: %w", infra.ErrUnavailable, infra.ErrAmbiguous), true, true},
		{nil, true, false},
	} {
		wrapped := row.err
		if wrapped != nil {
			wrapped = fmt.Errorf("create: %w", row.err)
		}
		if got := infra.PerhapsCreated(wrapped); got != row.perhaps {
			t.Errorf("%v: perhaps created %t", row.err, got)
		}
		if got := infra.Retryable(wrapped); got != row.retryable {
			t.Errorf("%v: retryable %t", row.err, got)
		}
	}
}

func TestThrottlingSaysWhenToComeBack(t *testing.T) {
	err := fmt.Errorf("create: %w", &infra.ThrottledError{After: 7 * time.Second})
	if after, ok := infra.RetryAfter(err); !ok || after != 7*time.Second || !errors.Is(err, infra.ErrThrottled) {
		t.Errorf("%v: again after %v, %t", err, after, ok)
	}
	for _, err := range []error{nil, infra.ErrThrottled, &infra.ThrottledError{}} {
		if after, ok := infra.RetryAfter(err); ok {
			t.Errorf("%v: again after %v, which nobody said", err, after)
		}
	}
}

func TestAStatusIsJudgedOnlyByWhatItSays(t *testing.T) {
	unhealthy := map[infra.Status]bool{
		"stopping": true, "stopped": true, "suspending": true, "suspended": true, "deleting": true, "deleted": true, "repairing": true,
	}
	for _, s := range infra.Statuses() {
		if s.Unhealthy() != unhealthy[s] || s.Gone() != (s == "deleted") || s.Leaving() != (s == "deleted" || s == "deleting") {
			t.Errorf("%s: unhealthy %t, gone %t, leaving %t", s, s.Unhealthy(), s.Gone(), s.Leaving())
		}
		if infra.ParseStatus(string(s)) != s {
			t.Errorf("%s is not read back", s)
		}
	}
	for _, s := range []string{"", "terminated", "Running"} {
		if got := infra.ParseStatus(s); got != infra.StatusUnknown {
			t.Errorf("%q is read as %s", s, got)
		}
	}
}
