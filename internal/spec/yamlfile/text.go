package yamlfile

import (
	"errors"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// Advised is an error that says what to do apart from what is wrong.
type Advised struct{ What, Do string }

// Error is both.
func (e *Advised) Error() string {
	if e.Do == "" {
		return e.What
	}
	return e.What + "; " + e.Do
}

// Advise makes an error of what is wrong and what to do.
func Advise(what, do string) error { return &Advised{what, do} }

// SplitAdvice takes an error apart.
func SplitAdvice(err error) (what, do string) {
	var a *Advised
	if errors.As(err, &a) {
		return a.What, a.Do
	}
	return err.Error(), ""
}

// MaxQuoted bounds how much of a value a message repeats, in characters.
const MaxQuoted = 60

// Quote shows a value of the file in a message: in quotes, shortened, and with
// nothing in it that a terminal would act on.
func Quote(s string) string {
	if utf8.RuneCountInString(s) > MaxQuoted {
		s = string([]rune(s)[:MaxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// QuoteBare is Quote without the quotes, for numbers.
func QuoteBare(s string) string { q := Quote(s); return q[1 : len(q)-1] }

var plainSegment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Join appends a key to a path; a key that is no plain word is quoted.
func Join(path, key string) string {
	if !plainSegment.MatchString(key) || len(key) > MaxQuoted {
		key = Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
