package yamlfile

import (
	"bytes"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLocateBytes bounds the files in which a syntax error is searched for by
// parsing their beginnings; in larger ones the parser's own line is shown.
const maxLocateBytes = 64 << 10

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntaxLine is the line that the parser names, or 1.
func syntaxLine(err error) int {
	if m := yamlLine.FindStringSubmatch(strings.TrimPrefix(err.Error(), "yaml: ")); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

// syntaxText is the parser's message without its prefix and line.
func syntaxText(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	return yamlLine.ReplaceAllString(text, "")
}

// explainSyntax says where YAML went wrong, in plain words.
func explainSyntax(source []byte, err error) (Position, string, string) {
	text := syntaxText(err)
	at := Position{syntaxLine(err), 1}
	if len(source) <= maxLocateBytes {
		at = locateSyntax(source, text)
	}
	what := "this is not YAML: " + text
	switch {
	case text == "found character that cannot start any token" && hasLeadingTab(source, at.Line):
		return at, "a tab indents this line", "YAML is indented with spaces only"
	case text == "found character that cannot start any token":
		return at, "a value cannot begin with this character", "put the value in quotes"
	case text == "mapping values are not allowed in this context":
		return at, "a colon is not expected here",
			"indent the line like its neighbours, or put a value that holds a colon in quotes"
	case text == "found unexpected end of stream":
		return at, "a quote is opened here and never closed", "close it"
	case strings.Contains(text, "expected ',' or ']'"):
		return at, "a list in brackets is not closed, or a comma is missing", "close it with ] or add the comma"
	case strings.Contains(text, "expected ',' or '}'"):
		return at, "a map in braces is not closed, or a comma is missing", "close it with } or add the comma"
	case text == "did not find expected key":
		return at, "this line does not fit the lines above it",
			"indent it like the key it belongs beside"
	case strings.HasPrefix(text, "unknown anchor"):
		// The name may be the beginning of a value that is meant otherwise.
		return at, "an alias leads to no anchor here", "define it with & before using it with *, or put a value that begins with * in quotes"
	}
	return at, what, ""
}

// locateSyntax finds where the error appears: the shortest beginning of the
// file that fails with the same words ends there. The parser's own line is that
// of the surrounding block, and often one too low.
func locateSyntax(source []byte, text string) Position {
	fails := func(prefix []byte) bool {
		_, _, err := decode(prefix)
		return err != nil && syntaxText(err) == text
	}
	ends := lineEnds(source)
	n := sort.Search(len(ends), func(i int) bool { return fails(source[:ends[i]]) })
	if n == len(ends) {
		return Position{max(1, len(ends)), 1}
	}
	start := 0
	if n > 0 {
		start = ends[n-1]
	}
	line := source[start:ends[n]]
	width := sort.Search(len(line), func(i int) bool { return fails(source[:start+i+1]) })
	column := utf8.RuneCount(line[:min(width, len(line))]) + 1
	return Position{n + 1, min(column, utf8.RuneCount(bytes.TrimRight(line, "\r\n"))+1)}
}

// lineEnds are the offsets just after each line.
func lineEnds(source []byte) []int {
	var ends []int
	for i, c := range source {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] != len(source) {
		ends = append(ends, len(source))
	}
	return ends
}

// hasLeadingTab reports whether the white space that begins a line has a tab.
func hasLeadingTab(source []byte, line int) bool {
	lines := bytes.Split(source, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.IndexByte(indent, '\t') >= 0
}
