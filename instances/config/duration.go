package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// Duration is a time of zero or more that is written as a text with its unit.
type Duration time.Duration

// maxDuration bounds every duration: a hundred years.
const maxDuration = 100 * 365 * 24 * time.Hour

var days = regexp.MustCompile(`^([0-9]{1,5})(d|w)$`)

// ParseDuration reads hours, minutes, seconds and parts of a second: "504h",
// "1h30m", "250ms". Days are refused: they are not always 24 hours.
func ParseDuration(s string) (Duration, error) {
	if m := days.FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1]) // at most five digits
		if m[2] == "w" {
			n *= 7
		}
		return 0, fmt.Errorf("%q: days and weeks are no units here; write %q", s, strconv.Itoa(n*24)+"h")
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration; write a number with its unit, such as \"30s\", \"5m\" or \"504h\"", clip(s))
	case d < 0:
		return 0, fmt.Errorf("%q is less than nothing", s)
	case d > maxDuration:
		return 0, fmt.Errorf("%q is more than a hundred years", s)
	}
	return Duration(d), nil
}

// Std is the standard library's type for it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is what ParseDuration reads.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes it as a text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a text, and no number.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%w: %s is not a duration, which is a text with its unit", ErrInvalid, clip(string(raw)))
	}
	parsed, err := ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	*d = parsed
	return nil
}

// clip keeps a message about a long text short.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
