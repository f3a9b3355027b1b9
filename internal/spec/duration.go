package spec

import (
	"time"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// ParseDuration reads a whole number with one unit: 500ms, 3s, 2m or 1h. A bare
// 0 is zero.
func ParseDuration(s string) (time.Duration, error) { return yamlfile.ParseDuration(s) }

// FormatDuration writes a duration as [ParseDuration] reads it, in the largest
// unit that leaves a whole number. Less than a millisecond is cut off.
func FormatDuration(t time.Duration) string { return yamlfile.FormatDuration(t) }
