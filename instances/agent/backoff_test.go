package agent

import (
	"testing"
	"time"
)

func TestPausesGrowWithFailuresAndWithConnectionsThatDoNotLast(t *testing.T) {
	b := &backoff{min: time.Second, max: 8 * time.Second, slow: time.Minute, jitter: func() float64 { return 1 }}
	pauses := func(what string, want ...time.Duration) {
		t.Helper()
		for i, w := range want {
			if got := b.pause(false); got != w*time.Second {
				t.Errorf("%s: pause %d is %v, want %v", what, i, got, w*time.Second)
			}
		}
	}
	pauses("failures", 1, 2, 4, 8, 8)
	b.ended(false)
	pauses("after a connection at last", 1, 2)
	b.ended(false)
	pauses("after another that did not last", 2)
	b.ended(false)
	pauses("and another", 4, 8)
	for range 100 {
		b.ended(false)
	}
	pauses("and many", 8)
	b.ended(true)
	pauses("after one that lasted", 1, 2)
	b.ended(false)
	pauses("and one that did not", 1)
	if got := b.pause(true); got != time.Minute {
		t.Errorf("after a refusal that stays: %v", got)
	}
}
