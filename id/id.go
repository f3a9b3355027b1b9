package id

import (
	"errors"
	"fmt"
	"time"
)

// Len is the length of an id in characters.
const Len = kindLen + suffixLen

// ErrInvalid is what every refusal of this package wraps.
var ErrInvalid = errors.New("id: invalid")

// ID names one thing. The zero value is Nil. IDs are comparable, may be keys of a
// map, and sort by their String: within a kind that is the order of their making.
type ID struct {
	text string // canonical, or empty
}

// Nil names nothing.
var Nil ID

// Parse reads the canonical form: kind and base32, lower case, version 7 with
// the variant of RFC 9562, no bits set in the padding. It neither trims nor folds, so one id has one spelling. An
// empty string is an error; see UnmarshalText for the form in which nothing is
// allowed.
func Parse(s string) (ID, error) {
	if len(s) != Len {
		return Nil, fmt.Errorf("%w: %q has %d characters, not %d", ErrInvalid, clip(s), len(s), Len)
	}
	if !validKind(s[:kindLen]) {
		return Nil, fmt.Errorf("%w: %q does not begin with a kind of three letters a to z", ErrInvalid, s)
	}
	uuid, err := decode(s[kindLen:])
	if err == nil {
		err = checkUUID(uuid)
	}
	if err != nil {
		return Nil, fmt.Errorf("%w: %q: %w", ErrInvalid, s, err)
	}
	return ID{text: s}, nil
}

// ParseKind is Parse for an id that must be of the given kind.
func ParseKind(s, kind string) (ID, error) {
	v, err := Parse(s)
	if err != nil {
		return Nil, err
	}
	if v.Kind() != kind {
		return Nil, fmt.Errorf("%w: %q is of kind %q, not %q", ErrInvalid, s, v.Kind(), kind)
	}
	return v, nil
}

// FromUUID makes the id of a kind from a UUID of version 7.
func FromUUID(kind string, uuid [16]byte) (ID, error) {
	if !validKind(kind) {
		return Nil, fmt.Errorf("%w: kind %q is not three letters a to z", ErrInvalid, clip(kind))
	}
	if err := checkUUID(uuid); err != nil {
		return Nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return ID{text: kind + encode(uuid)}, nil
}

// String is the canonical form, and empty for Nil.
func (v ID) String() string { return v.text }

// IsNil reports whether v names nothing.
func (v ID) IsNil() bool { return v.text == "" }

// IsZero is IsNil under the name that encoding/json's omitzero looks for.
func (v ID) IsZero() bool { return v.IsNil() }

// Kind is the three letters that say what v names, and empty for Nil.
func (v ID) Kind() string {
	if v.IsNil() {
		return ""
	}
	return v.text[:kindLen]
}

// WithKind is the id of another kind that shares v's UUID: a name that can be
// derived again for something that exists once for each v. Nil stays Nil.
func (v ID) WithKind(kind string) (ID, error) {
	if v.IsNil() {
		return Nil, nil
	}
	return FromUUID(kind, v.UUID())
}

// UUID is the UUID inside, all zeros for Nil.
func (v ID) UUID() [16]byte {
	if v.IsNil() {
		return [16]byte{}
	}
	uuid, _ := decode(v.text[kindLen:]) // v was checked when it was made
	return uuid
}

// Time is when v was made, in UTC and to the millisecond; the zero time for Nil.
func (v ID) Time() time.Time {
	if v.IsNil() {
		return time.Time{}
	}
	return time.UnixMilli(millis(v.UUID())).UTC()
}

// clip keeps an error about a long text short.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
