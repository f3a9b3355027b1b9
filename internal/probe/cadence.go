package probe

import "time"

// FirstDelay is the wait after the first probe that failed.
const FirstDelay = 20 * time.Millisecond

// NextDelay is the wait after that many failed probes: it doubles from
// FirstDelay up to the interval, so that a quick start is seen at once and a
// slow one costs little.
func NextDelay(attempts int, interval time.Duration) time.Duration {
	d := FirstDelay
	for i := 1; i < attempts && d < interval; i++ {
		d *= 2
	}
	return min(d, interval)
}
