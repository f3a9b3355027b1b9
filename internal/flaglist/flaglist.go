// Package flaglist is a command-line flag that takes several values.
//
// The mains of berthd and berth-node use it. It must know nothing of what the
// values mean.
package flaglist

import (
	"flag"
	"strings"
)

// List is a flag of values separated by commas. White space around a value and
// empty values are left out; given twice, the flag's last list counts.
type List []string

var _ flag.Value = (*List)(nil)

// String implements [flag.Value].
func (l *List) String() string { return strings.Join(*l, ",") }

// Set implements [flag.Value]. It never fails.
func (l *List) Set(s string) error {
	*l = nil
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}
