package engine

import (
	"testing"

	"github.com/moby/moby/api/types/container"
)

func TestARunNeverEndsBeforeItBegan(t *testing.T) {
	const early, late = "2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.002Z"
	for _, tc := range []struct {
		name               string
		status             container.ContainerState
		started, finished  string
		wantStart, wantEnd string
	}{
		{"ended in order", container.StateExited, early, late, early, late},
		{"noted late", container.StateExited, late, early, late, late},
		{"running again", container.StateRunning, late, early, late, early},
		{"never started", container.StateCreated, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "", ""},
		{"could not start", container.StateCreated, "0001-01-01T00:00:00Z", late, "", late},
	} {
		got := exitState(&container.State{Status: tc.status, StartedAt: tc.started, FinishedAt: tc.finished})
		if !got.StartedAt.Equal(parseTime(tc.wantStart)) || !got.FinishedAt.Equal(parseTime(tc.wantEnd)) {
			t.Errorf("%s: %v to %v", tc.name, got.StartedAt, got.FinishedAt)
		}
	}
}
