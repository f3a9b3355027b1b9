package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/berth-cloud/berth/backend"
)

// Fault is one rule that a document breaks.
type Fault struct {
	// Path leads to the value, as in `services.web.ports["80/tcp"].host_port`; ""
	// is the document as a whole.
	Path string

	// Message says what is wrong and what to do. It quotes names, and never the
	// values of variables, labels or arguments.
	Message string
}

// Error is everything that is wrong with a document, up to 50 faults. It is a
// backend.ErrInvalidManifest.
type Error struct {
	Faults []Fault
	// More is how many faults there are beside.
	More int
}

// Error is one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(backend.ErrInvalidManifest.Error())
	for i, f := range e.Faults {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		if f.Path != "" {
			b.WriteString(f.Path)
			b.WriteString(": ")
		}
		b.WriteString(f.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Unwrap is backend.ErrInvalidManifest.
func (e *Error) Unwrap() error { return backend.ErrInvalidManifest }

const (
	maxFaults  = 50 // what a hostile document makes us write
	maxClipped = 64 // bytes of a name in a message
)

type faults struct {
	list []Fault
	more int
}

func (f *faults) add(at *place, format string, args ...any) {
	if len(f.list) == maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, Fault{Path: at.String(), Message: fmt.Sprintf(format, args...)})
}

func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Faults: f.list, More: f.more}
}

// place is where a value stands. It is written out for a fault only, so that a good
// document costs no text. The document as a whole is nil.
type place struct {
	up    *place
	key   string
	index int // of an element; -1 for a member
}

func (p *place) field(key string) *place { return &place{up: p, key: key, index: -1} }

func (p *place) element(i int) *place { return &place{up: p, index: i} }

// String is "" for the document.
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	case !plain(p.key):
		return p.up.String() + "[" + quote(p.key) + "]"
	case p.up == nil:
		return p.key
	}
	return p.up.String() + "." + p.key
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return name != "" && len(name) <= maxClipped
}

// quote is a name for a message: clipped, and with nothing in it that a terminal or
// a log would take for its own.
func quote(name string) string {
	if len(name) <= maxClipped {
		return strconv.QuoteToASCII(name)
	}
	end := maxClipped
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	return strconv.QuoteToASCII(name[:end] + "...")
}
