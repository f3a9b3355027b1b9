package sqlite

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// stamp is how a time is kept: nanoseconds since 1970 in UTC, and NULL for the
// zero time. A time beyond what that holds (years 1678 to 2262) is cut to it.
func stamp(t time.Time) any {
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

// stampColumn reads what stamp wrote.
type stampColumn struct{ to *time.Time }

func asTime(to *time.Time) stampColumn { return stampColumn{to} }

// Scan implements sql.Scanner.
func (c stampColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.to = time.Time{}
	case int64:
		*c.to = time.Unix(0, v).UTC()
	default:
		return fmt.Errorf("a time is kept as an integer, got %T", v)
	}
	return nil
}

// jsonColumn reads a JSON text.
type jsonColumn struct{ to any }

func asJSON(to any) jsonColumn { return jsonColumn{to} }

// Scan implements sql.Scanner.
func (c jsonColumn) Scan(v any) error {
	switch v := v.(type) {
	case string:
		return json.Unmarshal([]byte(v), c.to)
	case []byte:
		return json.Unmarshal(v, c.to)
	}
	return fmt.Errorf("JSON is kept as text, got %T", v)
}

// toJSON is the text of a JSON column.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
