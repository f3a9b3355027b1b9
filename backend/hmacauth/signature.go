package hmacauth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Header has the signature. The protocol gives it this name.
const Header = "X-Fred-Signature"

const (
	// MaxAge is how old a signature may be.
	MaxAge = 5 * time.Minute
	// MaxSkew is how far in the future a signature may be, for clocks that differ.
	MaxSkew = time.Minute
	// MinSecretLength is the least number of bytes in a secret.
	MinSecretLength = 32
)

var (
	// ErrMissing: the request has no signature.
	ErrMissing = errors.New("missing signature")
	// ErrMalformed: the header cannot be read.
	ErrMalformed = errors.New("malformed signature")
	// ErrStale: the signature is older than MaxAge.
	ErrStale = errors.New("stale signature")
	// ErrFuture: the signature is more than MaxSkew ahead of the clock here.
	ErrFuture = errors.New("signature from the future")
	// ErrWrong: no secret here makes this signature for this request.
	ErrWrong = errors.New("wrong signature")
	// ErrSecretTooShort: a secret has fewer than MinSecretLength bytes.
	ErrSecretTooShort = fmt.Errorf("secret has fewer than %d bytes", MinSecretLength)
)

const (
	timeField = "t="
	sumField  = "sha256="
)

// signature is what the header says.
type signature struct {
	unix int64
	sum  [sha256.Size]byte
}

// parse reads a header. Spaces around either field are no matter.
func parse(header string) (signature, error) {
	if header == "" {
		return signature{}, ErrMissing
	}
	first, second, _ := strings.Cut(header, ",")
	seconds, hasTime := strings.CutPrefix(strings.TrimSpace(first), timeField)
	sum, hasSum := strings.CutPrefix(strings.TrimSpace(second), sumField)
	if !hasTime || !hasSum {
		return signature{}, fmt.Errorf("%w: it is not %s…,%s…", ErrMalformed, timeField, sumField)
	}
	var (
		s      signature
		digits [2 * sha256.Size]byte
		err    error
	)
	if s.unix, err = strconv.ParseInt(seconds, 10, 64); err != nil {
		return signature{}, fmt.Errorf("%w: its time is not a number of seconds", ErrMalformed)
	}
	if len(sum) != len(digits) {
		return signature{}, fmt.Errorf("%w: it has %d hex digits and not %d", ErrMalformed, len(sum), len(digits))
	}
	copy(digits[:], sum)
	if _, err = hex.Decode(s.sum[:], digits[:]); err != nil {
		return signature{}, fmt.Errorf("%w: it is not hex", ErrMalformed)
	}
	return s, nil
}

// String is the header.
func (s signature) String() string {
	b := make([]byte, 0, len(timeField)+20+1+len(sumField)+2*len(s.sum))
	b = append(b, timeField...)
	b = strconv.AppendInt(b, s.unix, 10)
	b = append(b, ',')
	b = append(b, sumField...)
	return string(hex.AppendEncode(b, s.sum[:]))
}

// fresh is whether the signature's time is near enough to now. It subtracts from
// now alone, as the time that a stranger wrote may be any.
func (s signature) fresh(now time.Time) error {
	here := now.Unix()
	switch {
	case s.unix < here-int64(MaxAge/time.Second):
		return fmt.Errorf("%w: it is of %d, and here it is %d (%s)", ErrStale, s.unix, here, now.UTC().Format(time.RFC3339))
	case s.unix > here+int64(MaxSkew/time.Second):
		return fmt.Errorf("%w: it is of %d, and here it is %d (%s)", ErrFuture, s.unix, here, now.UTC().Format(time.RFC3339))
	}
	return nil
}
