package yamlfile

import (
	"regexp"
	"strconv"
	"time"
)

var durationForm = regexp.MustCompile(`^([0-9]+)(ms|s|m|h)$`)

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond,
	"s":  time.Second,
	"m":  time.Minute,
	"h":  time.Hour,
}

// ParseDuration reads a whole number with one unit: 500ms, 3s, 2m or 1h. A bare
// 0 is zero.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	m := durationForm.FindStringSubmatch(s)
	if m == nil {
		return 0, Advise(Quote(s)+" is not a duration", durationAdvice(s))
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	unit := durationUnits[m[2]]
	if err != nil || n > int64(1<<63-1)/int64(unit) {
		return 0, Advise(Quote(s)+" is too long a time", "write it in a larger unit, or a smaller number")
	}
	return time.Duration(n) * unit, nil
}

// durationAdvice guesses what was meant, for the message alone.
func durationAdvice(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 {
		return "say the unit, for example " + s + "s"
	}
	if t, err := time.ParseDuration(s); err == nil && t > 0 && t%time.Millisecond == 0 {
		return "write one whole number with one unit: " + FormatDuration(t)
	}
	return "write a whole number with a unit: 500ms, 3s, 2m or 1h"
}

// FormatDuration writes a duration as [ParseDuration] reads it, in the largest
// unit that leaves a whole number. Less than a millisecond is cut off.
func FormatDuration(t time.Duration) string {
	for _, unit := range []string{"h", "m", "s"} {
		if size := durationUnits[unit]; t != 0 && t%size == 0 {
			return strconv.FormatInt(int64(t/size), 10) + unit
		}
	}
	if t == 0 {
		return "0s"
	}
	return strconv.FormatInt(t.Milliseconds(), 10) + "ms"
}
