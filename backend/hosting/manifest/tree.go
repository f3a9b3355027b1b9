package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// kind is what a JSON value is.
type kind string

// The kinds are named as messages name them.
const (
	object  kind = "an object"
	list    kind = "a list"
	text    kind = "a string"
	number  kind = "a number"
	boolean kind = "true or false"
	null    kind = "null"
)

// node is a JSON value. The standard decoder takes the last of two members with one
// name and forgets the first; two readers of one document could then differ.
type node struct {
	kind    kind
	members []member // in the order of the document, the first of each name
	items   []*node
	text    string // of a string, and the digits of a number
	truth   bool
}

type member struct {
	key   string
	value *node
}

func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// tree reads a document, which may have members twice: those are faults, and the
// first counts. It is nil when there is nothing to look at further.
func tree(payload []byte, f *faults) *node {
	switch {
	case len(payload) > MaxBytes:
		f.add(nil, "the document has %d bytes; the most is %d", len(payload), MaxBytes)
		return nil
	case len(bytes.TrimSpace(payload)) == 0:
		f.add(nil, "the document is empty; name at least an image")
		return nil
	case !utf8.Valid(payload):
		f.add(nil, "the document is not UTF-8; save it as that")
		return nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal(payload, &whole); err != nil {
		line, column := position(payload, err)
		f.add(nil, "the document is not JSON; look at line %d, column %d", line, column)
		return nil
	}
	g := grower{decoder: json.NewDecoder(bytes.NewReader(payload)), faults: f}
	g.decoder.UseNumber()
	root, err := g.value(nil, 0)
	if err != nil {
		f.add(nil, "%s", err.Error())
		return nil
	}
	return root
}

// position is where the syntax breaks, counted from 1.
func position(payload []byte, err error) (line, column int) {
	offset := len(payload)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = min(max(int(syntax.Offset)-1, 0), len(payload))
	}
	before := payload[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

var (
	errDepth  = errors.New("the document has lists and objects deeper in each other than any field; remove them")
	errValues = errors.New("the document has more values than are read of one; make it smaller")
	errSyntax = errors.New("the document is not JSON")
)

// grower makes nodes of tokens. The document is known to be JSON.
type grower struct {
	decoder *json.Decoder
	faults  *faults
	values  int
}

func (g *grower) value(at *place, depth int) (*node, error) {
	token, err := g.decoder.Token()
	if err != nil {
		return nil, errSyntax
	}
	if g.values++; g.values > MaxValues {
		return nil, errValues
	}
	switch v := token.(type) {
	case json.Delim:
		if depth == MaxDepth {
			return nil, errDepth
		}
		if v == '{' {
			return g.object(at, depth+1)
		}
		return g.list(at, depth+1)
	case string:
		return &node{kind: text, text: v}, nil
	case json.Number:
		return &node{kind: number, text: v.String()}, nil
	case bool:
		return &node{kind: boolean, truth: v}, nil
	}
	return &node{kind: null}, nil
}

func (g *grower) object(at *place, depth int) (*node, error) {
	n, seen := &node{kind: object}, map[string]bool{}
	for g.decoder.More() {
		token, err := g.decoder.Token()
		key, isText := token.(string)
		if err != nil || !isText {
			return nil, errSyntax
		}
		inside := at.field(key)
		value, err := g.value(inside, depth)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			g.faults.add(inside, "is there twice; keep one")
			continue
		}
		seen[key] = true
		n.members = append(n.members, member{key, value})
	}
	return n, g.closing()
}

func (g *grower) list(at *place, depth int) (*node, error) {
	n := &node{kind: list}
	for g.decoder.More() {
		value, err := g.value(at.element(len(n.items)), depth)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, value)
	}
	return n, g.closing()
}

func (g *grower) closing() error {
	if _, err := g.decoder.Token(); err != nil {
		return errSyntax
	}
	return nil
}
