package yamlfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// IsNull reports whether a node is YAML's null, written or left out.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// KindOf names what a node is, for messages.
func KindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	}
	return "a text"
}

// Untagged refuses values with a YAML tag: what a value is follows from how it
// is written.
func (d *Decoder) Untagged(v Value) bool {
	if v.Style&yaml.TaggedStyle == 0 {
		return true
	}
	d.Refuse(v, "YAML tags are not supported", "remove "+Quote(v.Tag)+"; put a text in quotes")
	return false
}

// Text is any scalar but null, as it is written: 1.10 stays "1.10".
func (d *Decoder) Text(v Value) (string, bool) {
	switch {
	case v.Kind != yaml.ScalarNode:
		d.Refuse(v, "this is "+KindOf(v.Node)+", not a single value", "write one value")
	case IsNull(v.Node):
		d.Refuse(v, "there is no value", `write "" for an empty text, or leave the key out`)
	case !d.Untagged(v):
	case !utf8.ValidString(v.Value):
		d.Refuse(v, "the value is not valid UTF-8", "write text only")
	case strings.ContainsRune(v.Value, 0):
		d.Refuse(v, "the value holds a NUL character", "remove it; no program could receive it")
	default:
		return v.Value, true
	}
	return "", false
}

// Str is a text; a number or a bool must be quoted to be one.
func (d *Decoder) Str(v Value) (string, bool) {
	s, ok := d.Text(v)
	if ok && v.Tag != "!!str" && v.Tag != "!!timestamp" {
		d.Refuse(v, Quote(s)+" is "+KindOf(v.Node)+", not a text", "put it in quotes if it is meant")
		return "", false
	}
	return s, ok
}

// Integer is a decimal number from low to high.
func (d *Decoder) Integer(v Value, low, high int) (int, bool) {
	between := fmt.Sprintf("write a number from %d to %d", low, high)
	if v.Kind != yaml.ScalarNode {
		d.Refuse(v, "this is "+KindOf(v.Node)+", not a number", between)
		return 0, false
	}
	if !d.Untagged(v) {
		return 0, false
	}
	n, err := strconv.Atoi(v.Value)
	plain := err == nil && strconv.Itoa(n) == v.Value
	switch {
	case v.Tag == "!!str" && plain:
		d.Refuse(v, Quote(v.Value)+" is a text", "remove the quotes")
	case v.Tag == "!!int" && !plain && len(v.Value) <= 18:
		d.Refuse(v, v.Value+" is not a plain decimal number", between)
	case v.Tag != "!!int" && !allDigits(v.Value):
		d.Refuse(v, Quote(v.Value)+" is not a whole number", between)
	case !plain || n < low || n > high:
		d.Refuse(v, QuoteBare(v.Value)+" is out of range", between)
	default:
		return n, true
	}
	return 0, false
}

// allDigits tells a number that is too large for the parser from what is none.
func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Boolean is true or false.
func (d *Decoder) Boolean(v Value) (is, ok bool) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!bool" && d.Untagged(v) {
		switch v.Value {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	d.Refuse(v, "this is not true or false", "write true or false")
	return false, false
}

// Duration is a time from low to high.
func (d *Decoder) Duration(v Value, low, high time.Duration) (time.Duration, bool) {
	s, ok := d.Text(v)
	if !ok {
		return 0, false
	}
	t, err := ParseDuration(s)
	if err != nil {
		d.RefuseErr(v, err)
		return 0, false
	}
	if t < low || t > high {
		d.Refuse(v, s+" is out of range",
			fmt.Sprintf("write a time from %s to %s", FormatDuration(low), FormatDuration(high)))
		return 0, false
	}
	return t, true
}
