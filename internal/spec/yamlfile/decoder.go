package yamlfile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Position is where something is written, from 1.
type Position struct{ Line, Column int }

// PositionOf is where a node is written.
func PositionOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// Words are what a kind of file has to say about itself. Every one is needed.
type Words struct {
	// One names what a file describes, "app".
	One string
	// Least says what to write into an empty file.
	Least string
	// Missing says what to write for a key that is required.
	Missing func(key string) string
	// Unknown says what to write in place of a key that is none, or why it is not
	// available yet, in the map at a path; "" where nothing is known.
	Unknown func(path, key string) (hint, notYet string)
}

// Decoder walks the nodes of one file. It reports every problem and goes on.
type Decoder struct {
	Errs *Errors
	// At is where each path that was read is written, for the rules that look
	// at more than one value.
	At    map[string]Position
	words Words
	// values counts what was visited, so that aliases cannot multiply a small
	// file into a large one.
	values int
}

// New makes a decoder of a file of that name.
func New(file string, words Words) Decoder {
	return Decoder{Errs: &Errors{File: file}, At: map[string]Position{}, words: words}
}

// Base is the decoder itself, for those that embed one.
func (d *Decoder) Base() *Decoder { return d }

// Embedder is a pointer to a Decoder, or to a struct that embeds one.
type Embedder interface{ Base() *Decoder }

// Value is a node and the path to it; aliases are already followed.
type Value struct {
	*yaml.Node
	Path string
}

// Position is where the value is written.
func (v Value) Position() Position { return PositionOf(v.Node) }

// Fail reports a problem at a position.
func (d *Decoder) Fail(at Position, path, what, do string) {
	d.Errs.add(Problem{Line: at.Line, Column: at.Column, Path: path, What: what, Do: do})
}

// Refuse reports a problem of a value.
func (d *Decoder) Refuse(v Value, what, do string) { d.Fail(v.Position(), v.Path, what, do) }

// RefuseErr reports an error of a rule that other packages may call too.
func (d *Decoder) RefuseErr(v Value, err error) {
	what, do := SplitAdvice(err)
	d.Refuse(v, what, do)
}

// RefuseAt reports a problem of a path that may not be written itself: the
// position is that of the nearest part of the path that is.
func (d *Decoder) RefuseAt(path, what, do string) {
	for p := path; ; {
		if at, ok := d.At[p]; ok {
			d.Fail(at, path, what, do)
			return
		}
		cut := strings.LastIndexAny(p, ".[")
		if cut < 0 {
			d.Fail(Position{1, 1}, path, what, do)
			return
		}
		p = p[:cut]
	}
}

// Visit follows an alias and counts the value. It is false, once with a
// problem, when the file has come to too much.
func (d *Decoder) Visit(n *yaml.Node, path string) (Value, bool) {
	d.values++
	if d.values == maxValues+1 {
		d.Fail(PositionOf(n), path, "the file comes to too many values here",
			fmt.Sprintf("the most is %d, with aliases written out", maxValues))
	}
	if d.values > maxValues {
		return Value{}, false
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	v := Value{n, path}
	d.At[path] = v.Position()
	return v, true
}

// Pairs calls each for every key of a map. It is false when v is no map, or not
// all of one.
func (d *Decoder) Pairs(v Value, each func(key *yaml.Node, val Value)) bool {
	if v.Kind != yaml.MappingNode {
		d.Refuse(v, "this is "+KindOf(v.Node)+", not a map", "write keys with values below it")
		return false
	}
	if !d.Untagged(v) {
		return false
	}
	first, merged := map[string]int{}, false
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i]
		if key.Kind != yaml.ScalarNode {
			d.Fail(PositionOf(key), v.Path, "a key is "+KindOf(key), "write a plain word")
			continue
		}
		if key.Tag == "!!merge" {
			merged = true
			d.Fail(PositionOf(key), v.Path, "merge keys (<<) are not supported",
				"write the keys out, or use an alias for a whole value")
			continue
		}
		path := Join(v.Path, key.Value)
		if line, dup := first[key.Value]; dup {
			d.Fail(PositionOf(key), path, "the key is written twice",
				fmt.Sprintf("keep one; the other is on line %d", line))
			continue
		}
		first[key.Value] = key.Line
		val, ok := d.Visit(v.Content[i+1], path)
		if !ok {
			return false
		}
		each(key, val)
	}
	return !merged
}

// Items calls each for every element of a list. It is false when v is no list.
func (d *Decoder) Items(v Value, example string, each func(i int, item Value)) bool {
	if v.Kind != yaml.SequenceNode {
		d.Refuse(v, "this is "+KindOf(v.Node)+", not a list", "write a list, for example: "+example)
		return false
	}
	if !d.Untagged(v) {
		return false
	}
	for i, n := range v.Content {
		item, ok := d.Visit(n, fmt.Sprintf("%s[%d]", v.Path, i))
		if !ok {
			return false
		}
		if IsNull(item.Node) {
			d.Refuse(item, "there is no value", "write one, or remove the line")
			continue
		}
		each(i, item)
	}
	return true
}
