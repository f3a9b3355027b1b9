package probe

import "time"

// FirstDelay is the wait after the first probe of a container.
const FirstDelay = 20 * time.Millisecond

// NextDelay is the wait after that many probes in a row that did not pass: it
// doubles from [FirstDelay] up to the interval, so that a quick start is seen at
// once and a slow one costs little. An interval of 0 or less is the default one.
func NextDelay(attempts int, interval time.Duration) time.Duration {
	if interval <= 0 {
		interval = DefaultLimits().Interval
	}
	d := FirstDelay
	for i := 1; i < attempts && d < interval; i++ {
		d *= 2
	}
	return min(d, interval)
}
