package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"unicode/utf8"
)

// maxDepth bounds how deep texts and arguments nest.
const maxDepth = 64

// maxWhole is the largest whole number that a JSON number keeps exactly.
const maxWhole = 1 << 53

// cloneArgs copies arguments that are normal.
func cloneArgs(args map[string]any) map[string]any {
	if args == nil {
		return nil
	}
	return cloneValue(args).(map[string]any)
}

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, value := range v {
			copied[key] = cloneValue(value)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, value := range v {
			copied[i] = cloneValue(value)
		}
		return copied
	}
	return v
}

// normalArgs is a copy of arguments from somewhere else, as they would be after
// they were written as JSON and read back. What is no JSON is ErrInvalid.
func normalArgs(args map[string]any) (map[string]any, error) {
	if args == nil {
		return nil, nil
	}
	v, err := normal("args", args, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return v.(map[string]any), nil
}

func normal(path string, v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s nests deeper than %d", clip(path), maxDepth)
	}
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("%s is not UTF-8", path)
		}
		return v, nil
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, value := range v {
			if !utf8.ValidString(key) {
				return nil, fmt.Errorf("%s has a key that is not UTF-8", path)
			}
			n, err := normal(path+"."+key, value, depth+1)
			if err != nil {
				return nil, err
			}
			copied[key] = n
		}
		return copied, nil
	case []any:
		copied := make([]any, len(v))
		for i, value := range v {
			n, err := normal(fmt.Sprintf("%s[%d]", path, i), value, depth+1)
			if err != nil {
				return nil, err
			}
			copied[i] = n
		}
		return copied, nil
	}
	return number(path, v)
}

// number is a number of any type as JSON has it.
func number(path string, v any) (any, error) {
	var f float64
	switch n := reflect.ValueOf(v); {
	case n.CanInt():
		if i := n.Int(); i > maxWhole || i < -maxWhole {
			return nil, fmt.Errorf("%s: %d is not kept exactly; write it as a text", path, i)
		}
		f = float64(n.Int())
	case n.CanUint():
		if u := n.Uint(); u > maxWhole {
			return nil, fmt.Errorf("%s: %d is not kept exactly; write it as a text", path, u)
		}
		f = float64(n.Uint())
	case n.CanFloat():
		f = n.Float()
	default:
		return nil, fmt.Errorf("%s is a %T, which is no JSON", path, v)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s is no number", path)
	}
	return f + 0, nil // no negative zero
}

// mergeArgs puts over on top of base, objects into objects; what is no object
// replaces. The result shares nothing with either.
func mergeArgs(base, over map[string]any) map[string]any {
	if base == nil && over == nil {
		return nil
	}
	merged := cloneArgs(base)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range over {
		below, isObject := merged[key].(map[string]any)
		above, goesOn := value.(map[string]any)
		if isObject && goesOn {
			merged[key] = mergeArgs(below, above)
			continue
		}
		merged[key] = cloneValue(value)
	}
	return merged
}

// mergeVars puts over on top of base in a map of its own.
func mergeVars(base, over map[string]string) map[string]string {
	if base == nil && over == nil {
		return nil
	}
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, over)
	return merged
}

// canonical is the one spelling of a value in JSON: keys in order, nothing
// escaped that need not be, no white space.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
