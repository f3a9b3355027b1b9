package localdb

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// stamp is how a time is kept: nanoseconds since 1970 in UTC, and NULL for the
// zero time. A time beyond what that holds (years 1678 to 2261) is cut to it.
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

// timeColumn reads what stamp wrote.
type timeColumn struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(v any) error {
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

// rawText is JSON as it came, and NULL without any.
func rawText(j json.RawMessage) any {
	if len(j) == 0 {
		return nil
	}
	return []byte(j)
}

// rawColumn reads what rawText wrote.
type rawColumn struct{ to *json.RawMessage }

// Scan implements sql.Scanner.
func (c rawColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.to = nil
	case []byte:
		*c.to = append(json.RawMessage(nil), v...)
	default:
		return fmt.Errorf("JSON is kept as bytes, got %T", v)
	}
	return nil
}

// tagsText is a map as JSON, and empty without any.
func tagsText(tags map[string]string) (string, error) {
	if len(tags) == 0 {
		return "", nil
	}
	b, err := json.Marshal(tags)
	return string(b), err
}

// tagsColumn reads what tagsText wrote.
type tagsColumn struct{ to *map[string]string }

// Scan implements sql.Scanner.
func (c tagsColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("tags are kept as text, got %T", v)
	}
	*c.to = nil
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), c.to)
}
