package spec

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// isNull reports whether a node is YAML's null, written or left out.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// kindOf names what a node is, for messages.
func kindOf(n *yaml.Node) string {
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

// untagged refuses values with a YAML tag: what a value is follows from how it
// is written.
func (d *decoder) untagged(v value) bool {
	if v.Style&yaml.TaggedStyle == 0 {
		return true
	}
	d.refuse(v, "YAML tags are not supported", "remove "+quote(v.Tag)+"; put a text in quotes")
	return false
}

// text is any scalar but null, as it is written: 1.10 stays "1.10".
func (d *decoder) text(v value) (string, bool) {
	switch {
	case v.Kind != yaml.ScalarNode:
		d.refuse(v, "this is "+kindOf(v.Node)+", not a single value", "write one value")
	case isNull(v.Node):
		d.refuse(v, "there is no value", `write "" for an empty text, or leave the key out`)
	case !d.untagged(v):
	case !utf8.ValidString(v.Value):
		d.refuse(v, "the value is not valid UTF-8", "write text only")
	case strings.ContainsRune(v.Value, 0):
		d.refuse(v, "the value holds a NUL character", "remove it; no program could receive it")
	default:
		return v.Value, true
	}
	return "", false
}

// str is a text; a number or a bool must be quoted to be one.
func (d *decoder) str(v value) (string, bool) {
	s, ok := d.text(v)
	if ok && v.Tag != "!!str" && v.Tag != "!!timestamp" {
		d.refuse(v, quote(s)+" is "+kindOf(v.Node)+", not a text", "put it in quotes if it is meant")
		return "", false
	}
	return s, ok
}

// integer is a decimal number from low to high.
func (d *decoder) integer(v value, low, high int) (int, bool) {
	between := fmt.Sprintf("write a number from %d to %d", low, high)
	if v.Kind != yaml.ScalarNode {
		d.refuse(v, "this is "+kindOf(v.Node)+", not a number", between)
		return 0, false
	}
	if !d.untagged(v) {
		return 0, false
	}
	n, err := strconv.Atoi(v.Value)
	plain := err == nil && strconv.Itoa(n) == v.Value
	switch {
	case v.Tag == "!!str" && plain:
		d.refuse(v, quote(v.Value)+" is a text", "remove the quotes")
	case v.Tag == "!!int" && !plain && len(v.Value) <= 18:
		d.refuse(v, v.Value+" is not a plain decimal number", between)
	case v.Tag != "!!int" && !allDigits(v.Value):
		d.refuse(v, quote(v.Value)+" is not a whole number", between)
	case !plain || n < low || n > high:
		d.refuse(v, quoteBare(v.Value)+" is out of range", between)
	default:
		return n, true
	}
	return 0, false
}

// allDigits tells a number that is too large for the parser from what is none.
func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// boolean is true or false.
func (d *decoder) boolean(v value) (is, ok bool) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!bool" && d.untagged(v) {
		switch v.Value {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	d.refuse(v, "this is not true or false", "write true or false")
	return false, false
}

// duration is a time from low to high.
func (d *decoder) duration(v value, low, high time.Duration) (time.Duration, bool) {
	s, ok := d.text(v)
	if !ok {
		return 0, false
	}
	t, err := ParseDuration(s)
	if err != nil {
		d.refuseErr(v, err)
		return 0, false
	}
	if t < low || t > high {
		d.refuse(v, s+" is out of range",
			fmt.Sprintf("write a time from %s to %s", FormatDuration(low), FormatDuration(high)))
		return 0, false
	}
	return t, true
}

// refuseErr reports an error of a rule that other packages may call too.
func (d *decoder) refuseErr(v value, err error) {
	what, do := splitAdvice(err)
	d.refuse(v, what, do)
}
