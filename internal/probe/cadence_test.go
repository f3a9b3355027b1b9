package probe

import (
	"testing"
	"time"
)

func TestTheDelayDoublesUpToTheInterval(t *testing.T) {
	for _, tc := range []struct {
		attempts int
		interval time.Duration
		want     time.Duration
	}{
		{0, time.Second, 20 * time.Millisecond},
		{1, time.Second, 20 * time.Millisecond},
		{2, time.Second, 40 * time.Millisecond},
		{6, time.Second, 640 * time.Millisecond},
		{7, time.Second, time.Second},
		{1 << 40, time.Second, time.Second},
		{1, 5 * time.Millisecond, 5 * time.Millisecond},
		{100, 0, 2 * time.Second},
	} {
		if got := NextDelay(tc.attempts, tc.interval); got != tc.want {
			t.Errorf("after %d attempts at %s: %s, want %s", tc.attempts, tc.interval, got, tc.want)
		}
	}
}

func TestZeroLimitsAreTheDefaults(t *testing.T) {
	if got := (Limits{}).OrDefaults(); got != DefaultLimits() {
		t.Errorf("got %+v", got)
	}
	negative := Limits{-1, -1, -1, -1, -1, -1, -1}.OrDefaults()
	want := DefaultLimits()
	want.MaxRedirects = -1 // none
	if negative != want {
		t.Errorf("got %+v, want %+v", negative, want)
	}
	own := Limits{1, 2, 3, 4, 5, 6, 7}
	if got := own.OrDefaults(); got != own {
		t.Errorf("got %+v, want %+v", got, own)
	}
}
