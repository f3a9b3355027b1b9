package storage

import (
	"fmt"
	"strings"
)

const (
	// MaxKeyBytes bounds a key, with the prefixes of every Scoped before it.
	MaxKeyBytes = 1024
	// MaxPartBytes bounds what stands between two slashes of a key.
	MaxPartBytes = 255
)

// CheckKey refuses what is no key with ErrInvalidKey. A key is parts with "/"
// between them, each of ASCII letters, digits and any of "._-:@", none of them
// empty and none beginning with a dot. So a key names nothing outside of where it
// is put, whatever it is made of.
func CheckKey(key string) error {
	return checkParts("key", key, false)
}

// CheckPrefix refuses what no key can begin with. The empty prefix fits every
// key; the last part may be unfinished.
func CheckPrefix(prefix string) error {
	return checkParts("prefix", prefix, true)
}

func checkParts(what, s string, unfinished bool) error {
	if s == "" && unfinished {
		return nil
	}
	if len(s) > MaxKeyBytes {
		return fmt.Errorf("%w: the %s is %d bytes long, at most %d are allowed", ErrInvalidKey, what, len(s), MaxKeyBytes)
	}
	parts := strings.Split(s, "/")
	for i, part := range parts {
		if part == "" && unfinished && i > 0 && i == len(parts)-1 {
			return nil
		}
		if !validPart(part) {
			return fmt.Errorf("%w: %s %q", ErrInvalidKey, what, clip(s))
		}
	}
	return nil
}

func validPart(part string) bool {
	if part == "" || len(part) > MaxPartBytes || part[0] == '.' {
		return false
	}
	for i := range len(part) {
		if !validByte(part[i]) {
			return false
		}
	}
	return true
}

func validByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return strings.IndexByte("._-:@", b) >= 0
}

// clip keeps an error about a long key short.
func clip(s string) string {
	const most = 128
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
