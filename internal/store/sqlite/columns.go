package sqlite

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/store/column"
)

// stamp is how a time is kept, asTime reads it.
func stamp(t time.Time) any { return column.Stamp(t) }

func asTime(to *time.Time) column.Time { return column.Time{To: to} }

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
