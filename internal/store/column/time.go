package column

import (
	"database/sql"
	"fmt"
	"math"
	"time"
)

// Stamp is how a time is kept: nanoseconds since 1970 in UTC, and NULL for the
// zero time. A time beyond what that holds (years 1678 to 2261) is cut to it.
func Stamp(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case t.Year() < 1678:
		return int64(math.MinInt64)
	case t.Year() > 2261:
		return int64(math.MaxInt64)
	}
	return t.UnixNano()
}

// Time reads what Stamp wrote.
type Time struct{ To *time.Time }

var _ sql.Scanner = Time{}

// Scan implements sql.Scanner.
func (c Time) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.To = time.Time{}
	case int64:
		*c.To = time.Unix(0, v).UTC()
	default:
		return fmt.Errorf("a time is kept as an integer, got %T", v)
	}
	return nil
}
