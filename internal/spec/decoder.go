package spec

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// position is where something is written, from 1.
type position struct{ line, column int }

// decoder walks the nodes of one file. It reports every problem and goes on.
type decoder struct {
	opts Options
	errs *Errors
	// at is where each path that was read is written, for the rules that look
	// at more than one value.
	at map[string]position
	// values counts what was visited, so that aliases cannot multiply a small
	// file into a large one.
	values int
}

// value is a node and the path to it; aliases are already followed.
type value struct {
	*yaml.Node
	path string
}

func (v value) position() position { return position{v.Line, v.Column} }

// fail reports a problem at a position.
func (d *decoder) fail(at position, path, what, do string) {
	d.errs.add(Problem{Line: at.line, Column: at.column, Path: path, What: what, Do: do})
}

// refuse reports a problem of a value.
func (d *decoder) refuse(v value, what, do string) { d.fail(v.position(), v.path, what, do) }

// refuseAt reports a problem of a path that may not be written itself: the
// position is that of the nearest part of the path that is.
func (d *decoder) refuseAt(path, what, do string) {
	for p := path; ; {
		if at, ok := d.at[p]; ok {
			d.fail(at, path, what, do)
			return
		}
		cut := strings.LastIndexAny(p, ".[")
		if cut < 0 {
			d.fail(position{1, 1}, path, what, do)
			return
		}
		p = p[:cut]
	}
}

// visit follows an alias and counts the value. It is false, once with a
// problem, when the file has come to too much.
func (d *decoder) visit(n *yaml.Node, path string) (value, bool) {
	d.values++
	if d.values == maxValues+1 {
		d.fail(position{n.Line, n.Column}, path, "the file comes to too many values here",
			fmt.Sprintf("the most is %d, with aliases written out", maxValues))
	}
	if d.values > maxValues {
		return value{}, false
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	v := value{n, path}
	d.at[path] = v.position()
	return v, true
}

// field is one key of a section: its name, and how its value is read.
type field[T any] struct {
	name     string
	required bool
	read     func(d *decoder, v value, into *T)
}

// section reads a map whose keys are known. Unknown and repeated keys, keys
// without a value and required keys that are missing are problems.
func section[T any](d *decoder, v value, fields []field[T], into *T) {
	seen := map[string]bool{}
	ok := d.pairs(v, func(key *yaml.Node, val value) {
		i := indexField(fields, key.Value)
		if i < 0 {
			// What was meant is not missed as well.
			seen[d.unknownKey(key, v.path, fieldNames(fields))] = true
			return
		}
		seen[key.Value] = true
		if isNull(val.Node) {
			d.refuse(val, "there is no value", "write one, or leave the key out")
			return
		}
		fields[i].read(d, val, into)
	})
	if !ok {
		return
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			d.refuse(v, f.name+" is missing", missingAdvice(f.name))
		}
	}
}

func missingAdvice(name string) string {
	switch name {
	case "name":
		return "name the app, for example: name: shop"
	case "services":
		return "write at least one service with an image"
	case "image":
		return "name the image to run, for example: image: ghcr.io/shop/web:1.4"
	}
	return "write it"
}

// pairs calls each for every key of a map. It is false when v is no map, or not
// all of one.
func (d *decoder) pairs(v value, each func(key *yaml.Node, val value)) bool {
	if v.Kind != yaml.MappingNode {
		d.refuse(v, "this is "+kindOf(v.Node)+", not a map", "write keys with values below it")
		return false
	}
	if !d.untagged(v) {
		return false
	}
	first, merged := map[string]int{}, false
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i]
		if key.Kind != yaml.ScalarNode {
			d.fail(position{key.Line, key.Column}, v.path, "a key is "+kindOf(key), "write a plain word")
			continue
		}
		if key.Tag == "!!merge" {
			merged = true
			d.fail(position{key.Line, key.Column}, v.path, "merge keys (<<) are not supported",
				"write the keys out, or use an alias for a whole value")
			continue
		}
		path := join(v.path, key.Value)
		if line, dup := first[key.Value]; dup {
			d.fail(position{key.Line, key.Column}, path, "the key is written twice",
				fmt.Sprintf("keep one; the other is on line %d", line))
			continue
		}
		first[key.Value] = key.Line
		val, ok := d.visit(v.Content[i+1], path)
		if !ok {
			return false
		}
		each(key, val)
	}
	return !merged
}

// items calls each for every element of a list. It is false when v is no list.
func (d *decoder) items(v value, example string, each func(i int, item value)) bool {
	if v.Kind != yaml.SequenceNode {
		d.refuse(v, "this is "+kindOf(v.Node)+", not a list", "write a list, for example: "+example)
		return false
	}
	if !d.untagged(v) {
		return false
	}
	for i, n := range v.Content {
		item, ok := d.visit(n, fmt.Sprintf("%s[%d]", v.path, i))
		if !ok {
			return false
		}
		if isNull(item.Node) {
			d.refuse(item, "there is no value", "write one, or remove the line")
			continue
		}
		each(i, item)
	}
	return true
}

func indexField[T any](fields []field[T], name string) int {
	for i, f := range fields {
		if f.name == name {
			return i
		}
	}
	return -1
}

func fieldNames[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}
