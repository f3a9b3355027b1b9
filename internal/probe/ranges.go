package probe

import (
	"fmt"
	"strconv"
	"strings"
)

// Range is an inclusive range of HTTP statuses.
type Range struct{ From, To int }

// Ranges are the statuses that pass; none stand for 200-299.
type Ranges []Range

// Has reports whether a status passes.
func (rs Ranges) Has(status int) bool {
	if len(rs) == 0 {
		return status >= 200 && status <= 299
	}
	for _, r := range rs {
		if status >= r.From && status <= r.To {
			return true
		}
	}
	return false
}

// maxRanges bounds a list of statuses.
const maxRanges = 32

// ParseStatusRanges reads "200-299,304". Statuses are 100 to 599.
func ParseStatusRanges(s string) (Ranges, error) {
	parts := strings.Split(s, ",")
	if len(parts) > maxRanges {
		return nil, fmt.Errorf("%d status ranges are more than %d", len(parts), maxRanges)
	}
	var out Ranges
	for _, part := range parts {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := parseStatus(lo)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = parseStatus(hi); err != nil {
				return nil, err
			}
		}
		if to < from {
			return nil, fmt.Errorf("status range %q ends before it begins", part)
		}
		out = append(out, Range{from, to})
	}
	return out, nil
}

func parseStatus(s string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 100 || n > 599 {
		return 0, fmt.Errorf("%q is not an HTTP status (100 to 599); write for example 200-299,304", s)
	}
	return n, nil
}
