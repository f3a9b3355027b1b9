package probe

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Range is an inclusive range of HTTP statuses.
type Range struct{ From, To int }

// Ranges are the statuses that pass; none stand for 200-299.
type Ranges []Range

// ErrStatusRange is a list of statuses that cannot be read.
var ErrStatusRange = errors.New("not a list of HTTP statuses such as 200-299,304")

const (
	minStatus = 200 // earlier ones are no final answer
	maxStatus = 599
	maxRanges = 32
)

var success = Ranges{{From: 200, To: 299}}

// Has reports whether a status passes.
func (rs Ranges) Has(status int) bool {
	return slices.ContainsFunc(rs.orSuccess(), func(r Range) bool { return r.From <= status && status <= r.To })
}

func (rs Ranges) orSuccess() Ranges {
	if len(rs) == 0 {
		return success
	}
	return rs
}

// String writes the ranges as [ParseStatusRanges] reads them.
func (rs Ranges) String() string {
	var b strings.Builder
	for i, r := range rs.orSuccess() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(r.From))
		if r.To != r.From {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(r.To))
		}
	}
	return b.String()
}

// ParseStatusRanges reads statuses and ranges of them, such as "200-299,304":
// at most 32, each within 200 to 599. What it returns is sorted, and ranges that
// overlap or touch have become one. Its errors wrap [ErrStatusRange] and name
// the part that is wrong.
func ParseStatusRanges(s string) (Ranges, error) {
	if n := strings.Count(s, ",") + 1; n > maxRanges {
		return nil, fmt.Errorf("%w: %d entries are more than %d", ErrStatusRange, n, maxRanges)
	}
	var out Ranges
	for part := range strings.SplitSeq(s, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		low, okLow := parseStatus(from)
		high, okHigh := parseStatus(to)
		if !okLow || !okHigh {
			return nil, fmt.Errorf("%w: %s is not a status from %d to %d, nor a range of them",
				ErrStatusRange, short(part), minStatus, maxStatus)
		}
		if low > high {
			return nil, fmt.Errorf("%w: %s ends before it begins", ErrStatusRange, short(part))
		}
		out = append(out, Range{low, high})
	}
	return merge(out), nil
}

// parseStatus reads three digits, and nothing that merely looks like a number.
func parseStatus(s string) (int, bool) {
	s = strings.Trim(s, " \t")
	if len(s) != 3 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= minStatus && n <= maxStatus
}

func merge(rs Ranges) Ranges {
	slices.SortFunc(rs, func(a, b Range) int { return a.From - b.From })
	out := rs[:0]
	for _, r := range rs {
		if last := len(out) - 1; last >= 0 && r.From <= out[last].To+1 {
			out[last].To = max(out[last].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// short quotes a part of the input, cut to a length that fits a message.
func short(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}
