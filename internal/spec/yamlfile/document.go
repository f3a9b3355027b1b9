package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxSourceBytes bounds a file.
const MaxSourceBytes = 1 << 20

// maxValues bounds how many values a file may come to once its aliases are
// written out; a file without aliases of the largest size has more room than any
// real one needs.
const maxValues = 50_000

// Document parses the source into the root node of its only document, or
// reports why not and returns nil.
func (d *Decoder) Document(source []byte) *yaml.Node {
	first := Position{1, 1}
	if len(source) > MaxSourceBytes {
		d.Fail(first, "", fmt.Sprintf("the file has %d bytes", len(source)),
			fmt.Sprintf("the most is %d (1 MiB)", MaxSourceBytes))
		return nil
	}
	if !utf8.Valid(source) {
		d.Fail(invalidUTF8At(source), "", "the file is not valid UTF-8 here", "save it as UTF-8")
		return nil
	}
	root, second, err := decode(source)
	switch {
	case err != nil:
		at, what, do := explainSyntax(source, err)
		d.Fail(at, "", what, do)
		return nil
	case root == nil || IsNull(root):
		d.Fail(first, "", "the file is empty", d.words.Least)
		return nil
	case second != nil:
		d.Fail(PositionOf(second), "", "a second document begins here",
			"write one "+d.words.One+" a file, without a --- between")
		return nil
	}
	return root
}

// decode returns the content of the first document and, if there is one,
// the second document. Both are nil for a stream without documents.
func decode(source []byte) (root, second *yaml.Node, err error) {
	// The parser panics on input it has no answer for. A file comes from
	// outside, so that is an error of the file.
	defer func() {
		if r := recover(); r != nil {
			root, second, err = nil, nil, fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(source))
	var doc yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, nil, nil
	}
	var next yaml.Node
	switch err := dec.Decode(&next); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil, nil
	case err != nil:
		return nil, nil, err
	}
	return doc.Content[0], &next, nil
}

// invalidUTF8At is the position of the first byte that is not UTF-8.
func invalidUTF8At(source []byte) Position {
	at := Position{1, 1}
	for len(source) > 0 {
		r, n := utf8.DecodeRune(source)
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at.Column++
		if r == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
		source = source[n:]
	}
	return at
}
