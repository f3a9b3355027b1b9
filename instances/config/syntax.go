package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// MaxBytes bounds a text: 4 MiB.
const MaxBytes = 4 << 20

// text is a source with the places of its values.
type text struct {
	raw []byte
}

// place is the line and column of an offset, both from 1.
func (t text) place(offset int) (line, column int) {
	offset = min(max(offset, 0), len(t.raw))
	before := t.raw[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// where is how the parser says a place at the start of its message.
var where = regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)

// parse is the syntax of a text: JSON with comments and commas at the end. What
// is wrong with it is one problem, as nothing can be read beyond it.
func parse(raw []byte) (hujson.Value, *Problem) {
	if len(raw) > MaxBytes {
		return hujson.Value{}, &Problem{Message: fmt.Sprintf("the text has %d bytes; %d are the most", len(raw), MaxBytes)}
	}
	t := text{raw}
	if !utf8.Valid(raw) {
		line, column := t.place(firstInvalid(raw))
		return hujson.Value{}, &Problem{Line: line, Column: column, Message: "this is not UTF-8"}
	}
	if offset := tooDeep(raw); offset >= 0 {
		line, column := t.place(offset)
		return hujson.Value{}, &Problem{Line: line, Column: column, Message: fmt.Sprintf("this nests deeper than %d", maxDepth)}
	}
	v, err := hujson.Parse(raw)
	if err == nil {
		return v, nil
	}
	p := &Problem{Message: clipLong(err.Error())}
	if m := where.FindStringSubmatch(p.Message); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Column, _ = strconv.Atoi(m[2])
		p.Message = p.Message[len(m[0]):]
	}
	return hujson.Value{}, p
}

func clipLong(s string) string {
	const most = 300
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

func firstInvalid(raw []byte) int {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(raw)
}

// tooDeep is the offset at which brackets nest deeper than maxDepth, and -1 when
// they do not. The parser calls itself for each level, without a bound.
func tooDeep(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = skipString(raw, i)
		case '/':
			i = skipComment(raw, i)
		}
	}
	return -1
}

// skipString is the offset of the quote that ends the string at i.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

// skipComment is the offset of the last byte of the comment at i.
func skipComment(raw []byte, i int) int {
	rest := raw[i:]
	end, skip := 0, 0 // of the comment's closing mark: where it begins, and how far its last byte is
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		end = bytes.IndexByte(rest, '\n')
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			end, skip = end+2, 1
		}
	default:
		return i
	}
	if end < 0 {
		return len(raw)
	}
	return i + end + skip
}
