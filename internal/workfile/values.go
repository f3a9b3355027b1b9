package workfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// durationField is a key whose value is a time.
func durationField[T any](name string, of func(*T) *time.Duration) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) {
		*of(into), _ = d.Duration(v, 0, maxTime)
	}}
}

// textField is a key whose value is a text, also one that looks like a number.
func textField[T any](name string, of func(*T) *string) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) { *of(into), _ = d.Text(v) }}
}

// boolField is a key whose value is true or false.
func boolField[T any](name string, of func(*T) *bool) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) { *of(into), _ = d.Boolean(v) }}
}

// listField is a key whose value is a list of texts.
func listField[T any](name, example string, of func(*T) *[]string) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) { *of(into) = d.list(v, example) }}
}

// mibField is a key whose value is an amount of memory or disk in whole
// mebibytes.
func mibField[T any](name string, of func(*T) *int) field[T] {
	return field[T]{Name: name, Read: func(d *decoder, v value, into *T) { *of(into) = d.mebibytes(v) }}
}

// oneOf is a text that is one of a few.
func oneOf[T ~string](d *decoder, v value, words ...T) T {
	text, ok := d.Str(v)
	if !ok || slices.Contains(words, T(text)) {
		return T(text)
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	do := "write one of " + strings.Join(names, ", ")
	if near := yamlfile.Nearest(text, names); near != "" {
		do = "did you mean " + near + "?"
	}
	d.Refuse(v, yamlfile.Quote(text)+" is not known", do)
	return ""
}

// list reads texts. One text alone is refused: no shell splits it.
func (d *decoder) list(v value, example string) []string {
	if v.Kind == yaml.ScalarNode {
		d.Refuse(v, "this is one value, not a list", "write a list, for example: "+example)
		return nil
	}
	out := []string{}
	d.Items(v, example, func(_ int, item value) {
		if text, ok := d.Text(item); ok {
			out = append(out, text)
		}
	})
	return out
}

// texts reads a map of texts.
func (d *decoder) texts(v value) map[string]string {
	out := map[string]string{}
	d.Pairs(v, func(key *yaml.Node, val value) {
		if text, ok := d.Text(val); ok {
			out[key.Value] = text
		}
	})
	return out
}

// mebibytes reads an amount, which the contract counts in units of 1024*1024
// bytes.
func (d *decoder) mebibytes(v value) int {
	text, ok := d.Text(v)
	if !ok {
		return 0
	}
	n, err := spec.ParseBytes(text)
	switch {
	case err != nil:
		d.RefuseErr(v, err)
	case n < 1<<20 || n%(1<<20) != 0:
		d.Refuse(v, yamlfile.QuoteBare(text)+" is not a whole number of mebibytes", "write one that is, for example 256Mi")
	case n>>20 > maxMebibytes:
		d.Refuse(v, yamlfile.QuoteBare(text)+" is out of range", fmt.Sprintf("the most is %dMi", maxMebibytes))
	default:
		return int(n >> 20)
	}
	return 0
}

// maxMebibytes is a pebibyte, which no orchestrator has.
const maxMebibytes = 1 << 30
