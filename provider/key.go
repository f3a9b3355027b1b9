package provider

import (
	"fmt"
	"strings"
)

// CheckKey holds the key of a record against its form: parts with slashes
// between them, each of letters, digits and ._- and neither beginning nor ending
// with a dot, within MaxKeyLength and MaxKeySegment. What is wrong is ErrInvalid.
func CheckKey(key string) error {
	if len(key) > MaxKeyLength {
		return fmt.Errorf("%w: key %q… has %d bytes, the most is %d", ErrInvalid, key[:MaxKeySegment], len(key), MaxKeyLength)
	}
	for part := range strings.SplitSeq(key, "/") {
		if !validSegment(part) {
			return fmt.Errorf("%w: key %q: part %q is not 1 to %d letters, digits and ._- with no dot at either end", ErrInvalid, key, part, MaxKeySegment)
		}
	}
	return nil
}

// CheckPrefix holds the prefix of a StateStore's List against its form: empty,
// or a key and a slash.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	key, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf("%w: prefix %q does not end with a slash", ErrInvalid, clip(prefix))
	}
	return CheckKey(key)
}

// CheckValue holds the size of a record against MaxRecordSize.
func CheckValue(value []byte) error {
	if len(value) > MaxRecordSize {
		return fmt.Errorf("%w: the record has %d bytes, the most is %d", ErrInvalid, len(value), MaxRecordSize)
	}
	return nil
}

// Key joins parts to the key of a record and checks it.
func Key(parts ...string) (string, error) {
	key := strings.Join(parts, "/")
	return key, CheckKey(key)
}

func validSegment(s string) bool {
	if s == "" || len(s) > MaxKeySegment || s[0] == '.' || s[len(s)-1] == '.' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
