package yamlfile

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Field is one key of a section: its name, and how its value is read by a
// decoder of type D.
type Field[D Embedder, T any] struct {
	Name     string
	Required bool
	Read     func(d D, v Value, into *T)
}

// Section reads a map whose keys are known. Unknown and repeated keys, keys
// without a value and required keys that are missing are problems.
func Section[D Embedder, T any](d D, v Value, fields []Field[D, T], into *T) {
	b := d.Base()
	seen := map[string]bool{}
	ok := b.Pairs(v, func(key *yaml.Node, val Value) {
		i := slices.IndexFunc(fields, func(f Field[D, T]) bool { return f.Name == key.Value })
		if i < 0 {
			// What was meant is not missed as well.
			seen[b.unknownKey(key, v.Path, FieldNames(fields))] = true
			return
		}
		seen[key.Value] = true
		if IsNull(val.Node) {
			b.Refuse(val, "there is no value", "write one, or leave the key out")
			return
		}
		fields[i].Read(d, val, into)
	})
	if !ok {
		return
	}
	for _, f := range fields {
		if f.Required && !seen[f.Name] {
			b.Refuse(v, f.Name+" is missing", b.words.Missing(f.Name))
		}
	}
}

// FieldNames are the keys of a section.
func FieldNames[D Embedder, T any](fields []Field[D, T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// unknownKey refuses a key, and names and returns the one that was probably
// meant, "" for none.
func (d *Decoder) unknownKey(key *yaml.Node, parent string, names []string) string {
	path, word := Join(parent, key.Value), PlainKey(key.Value)
	near := Nearest(word, names)
	hint, notYet := d.words.Unknown(parent, word)
	switch {
	case near != word && hint != "":
		d.Fail(PositionOf(key), path, "this key is not known", hint)
		meant, _ := strings.CutPrefix(hint, "the key is ")
		meant, _, _ = strings.Cut(meant, ",")
		return meant
	case near != word && notYet != "":
		d.Fail(PositionOf(key), path, "this is not available yet", notYet)
		return ""
	case near != "":
		d.Fail(PositionOf(key), path, "this key is not known", "did you mean "+near+"?")
	default:
		d.Fail(PositionOf(key), path, "this key is not known", "the keys here are "+strings.Join(slices.Sorted(slices.Values(names)), ", "))
	}
	return near
}
