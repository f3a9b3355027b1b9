package spec

import (
	"errors"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// advised is an error that says what to do apart from what is wrong.
type advised struct{ what, do string }

func (e *advised) Error() string {
	if e.do == "" {
		return e.what
	}
	return e.what + "; " + e.do
}

func advise(what, do string) error { return &advised{what, do} }

// splitAdvice takes an error apart.
func splitAdvice(err error) (what, do string) {
	var a *advised
	if errors.As(err, &a) {
		return a.what, a.do
	}
	return err.Error(), ""
}

// maxQuoted bounds how much of a value a message repeats, in characters.
const maxQuoted = 60

// quote shows a value of the file in a message: in quotes, shortened, and with
// nothing in it that a terminal would act on.
func quote(s string) string {
	if utf8.RuneCountInString(s) > maxQuoted {
		s = string([]rune(s)[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// quoteBare is quote without the quotes, for numbers.
func quoteBare(s string) string { q := quote(s); return q[1 : len(q)-1] }

var plainSegment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join appends a key to a path; a key that is no plain word is quoted.
func join(path, key string) string {
	if !plainSegment.MatchString(key) || len(key) > maxQuoted {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
