package memory

import "encoding/json"

// normal is a value as JSON tells it, in which nil and empty are one where the
// types say so.
func normal(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		return v
	}
	return out
}
