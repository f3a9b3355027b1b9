package localdb

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/store/column"
)

// stamp is how a time is kept, asTime reads it.
func stamp(t time.Time) any { return column.Stamp(t) }

func asTime(to *time.Time) column.Time { return column.Time{To: to} }

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
