package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxSourceBytes bounds an app.yaml.
	MaxSourceBytes = 1 << 20
	// maxValues bounds how many values a file may come to once its aliases
	// are written out; a file without aliases of the largest size has more
	// room than any real app needs.
	maxValues = 50_000
)

// Options is what a file is judged by beside itself. The zero value allows
// nothing that an operator must allow.
type Options struct {
	// File is the name that messages give the file; "" means "app.yaml".
	File string
	// AllowHostPaths are the folders of the host below which services may
	// mount paths. None: no host path is allowed.
	AllowHostPaths []string
	// DenyHostPaths are refused whatever is allowed, beside those that
	// always are; the daemon names its data directory here.
	DenyHostPaths []string
}

// Parse reads one app.yaml. What it returns is complete, every default filled
// in, and valid by itself; whether it fits the machine (a name another app
// has, a port in use) is not known here. The error is an [*Errors].
func Parse(source []byte, opts Options) (*App, error) {
	if opts.File == "" {
		opts.File = "app.yaml"
	}
	d := &decoder{
		opts: opts,
		errs: &Errors{File: opts.File},
		at:   map[string]position{},
	}
	root := d.document(source)
	if root == nil {
		return nil, d.errs.sorted()
	}
	app := d.app(root)
	if len(d.errs.Problems) > 0 {
		return nil, d.errs.sorted()
	}
	return app, nil
}

// document parses the source into the root node of its only document, or
// reports why not and returns nil.
func (d *decoder) document(source []byte) *yaml.Node {
	first := position{1, 1}
	if len(source) > MaxSourceBytes {
		d.fail(first, "", fmt.Sprintf("the file has %d bytes", len(source)),
			fmt.Sprintf("the most is %d (1 MiB)", MaxSourceBytes))
		return nil
	}
	if !utf8.Valid(source) {
		d.fail(invalidUTF8At(source), "", "the file is not valid UTF-8 here", "save it as UTF-8")
		return nil
	}
	root, second, err := decodeYAML(source)
	switch {
	case err != nil:
		at, what, do := explainSyntax(source, err)
		d.fail(at, "", what, do)
		return nil
	case root == nil || isNull(root):
		d.fail(first, "", "the file is empty",
			`write at least name, and one service with an image`)
		return nil
	case second != nil:
		d.fail(position{second.Line, second.Column}, "", "a second document begins here",
			"write one app a file, without a --- between")
		return nil
	}
	return root
}

// decodeYAML returns the content of the first document and, if there is one,
// the second document. Both are nil for a stream without documents.
func decodeYAML(source []byte) (root, second *yaml.Node, err error) {
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
func invalidUTF8At(source []byte) position {
	at := position{1, 1}
	for len(source) > 0 {
		r, n := utf8.DecodeRune(source)
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at.column++
		if r == '\n' {
			at.line, at.column = at.line+1, 1
		}
		source = source[n:]
	}
	return at
}
