package id

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"fmt"
)

var (
	_ encoding.TextMarshaler   = ID{}
	_ encoding.TextUnmarshaler = (*ID)(nil)
	_ driver.Valuer            = ID{}
	_ sql.Scanner              = (*ID)(nil)
	_ fmt.Stringer             = ID{}
)

// MarshalText writes the canonical form, and nothing for Nil. encoding/json uses
// it for values ("" is Nil) and for keys of maps.
func (v ID) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// AppendText is MarshalText into a buffer.
func (v ID) AppendText(b []byte) ([]byte, error) { return append(b, v.text...), nil }

// UnmarshalText reads what MarshalText writes: the canonical form, or nothing for
// Nil. When it returns an error v is as it was.
func (v *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*v = Nil
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

// Value is the canonical form as text, and NULL for Nil.
func (v ID) Value() (driver.Value, error) {
	if v.IsNil() {
		return nil, nil
	}
	return v.text, nil
}

// Scan reads text, or NULL and the empty text for Nil.
func (v *ID) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		*v = Nil
		return nil
	case string:
		return v.UnmarshalText([]byte(src))
	case []byte:
		return v.UnmarshalText(src)
	default:
		return fmt.Errorf("%w: a column of type %T is no text", ErrInvalid, src)
	}
}
