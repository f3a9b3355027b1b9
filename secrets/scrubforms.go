package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
)

const (
	minScrub     = 4        // shorter values are left alone
	minScrubLine = 8        // shorter lines of a value are left alone
	minScrubCore = 8        // shorter middles of base64 are left alone
	maxScrub     = 16 << 10 // of a longer value this much is looked for
	scrubPart    = 64       // longer forms are looked for in parts
)

// forms are the texts to look for so that a value is found.
func forms(value []byte) [][]byte {
	if len(value) < minScrub {
		return nil
	}
	value = value[:min(len(value), maxScrub)]
	all := append(written(value), encoded(value)...)
	if bare := bytes.TrimSpace(value); len(bare) < len(value) && len(bare) >= minScrub {
		all = append(append(all, written(bare)...), encoded(bare)...)
	}
	if lines := bytes.Split(value, []byte("\n")); len(lines) > 1 {
		for _, line := range lines {
			if line = bytes.TrimRight(line, "\r"); len(line) >= minScrubLine {
				all = append(all, written(line)...)
			}
		}
	}
	var parts [][]byte
	for _, form := range all {
		parts = append(parts, inParts(form)...)
	}
	return parts
}

// written is a text in the ways that programs quote and escape it.
func written(text []byte) [][]byte {
	all := [][]byte{text}
	s := string(text)
	for _, other := range []string{
		unquoted(strconv.Quote(s)), unquoted(strconv.QuoteToASCII(s)), unquoted(asJSON(s, true)), unquoted(asJSON(s, false)),
		url.QueryEscape(s), url.PathEscape(s), url.UserPassword("u", s).String()[len("u:"):],
	} {
		if other != s {
			all = append(all, []byte(other))
		}
	}
	return all
}

// encoded is a text in base64, by itself and within more.
func encoded(text []byte) [][]byte {
	var all [][]byte
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, []byte(enc.EncodeToString(text)), []byte(enc.WithPadding(base64.NoPadding).EncodeToString(text)))
		for before := range 3 {
			if core := base64Core(enc, text, before); len(core) >= minScrubCore {
				all = append(all, core)
			}
		}
	}
	return all
}

// base64Core is the part of base64 that does not depend on what is around the
// text, when so many bytes plus a multiple of three are before it.
func base64Core(enc *base64.Encoding, text []byte, before int) []byte {
	all := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), text...))
	// Six bits a character: those with a bit of what is before go, and those
	// that would have a bit of what comes after.
	start := (before*8 + 5) / 6
	end := (before + len(text)) * 8 / 6
	return []byte(all[min(start, end):end])
}

func asJSON(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return ""
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

func unquoted(s string) string {
	if len(s) < 2 {
		return s
	}
	return s[1 : len(s)-1]
}

// inParts cuts a long form into parts that cover it.
func inParts(form []byte) [][]byte {
	if len(form) <= scrubPart {
		return [][]byte{form}
	}
	var parts [][]byte
	for i := 0; i+scrubPart < len(form); i += scrubPart {
		parts = append(parts, form[i:i+scrubPart])
	}
	return append(parts, form[len(form)-scrubPart:])
}
