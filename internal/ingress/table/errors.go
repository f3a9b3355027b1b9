package table

import "errors"

// Why a push can be refused. The data plane answers them over the socket with
// the code of [Code]; the client turns the code back with [FromCode], so that
// errors.Is works on both sides.
var (
	ErrProtocol    = errors.New("protocol mismatch")
	ErrInvalid     = errors.New("invalid table")
	ErrOldVersion  = errors.New("older version than the table in use")
	ErrSameVersion = errors.New("same version with other content")
	ErrClaimed     = errors.New("host and path claimed by another owner")
)

var codes = []struct {
	code string
	err  error
}{
	{"protocol", ErrProtocol},
	{"invalid", ErrInvalid},
	{"old_version", ErrOldVersion},
	{"same_version", ErrSameVersion},
	{"claimed", ErrClaimed},
}

// Problem is the body of every answer of the control socket that is no success.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Claimed are, of a table that was refused for ErrClaimed, the claims that another
	// owner has: it may be pushed without them.
	Claimed []Claim `json:"claimed,omitempty"`
}

// ClaimedError is ErrClaimed with all the claims that another owner has.
type ClaimedError struct {
	Claims  []Claim
	Message string // names the first of them, and who has it
}

func (e *ClaimedError) Error() string { return ErrClaimed.Error() + ": " + e.Message }

// Unwrap is ErrClaimed.
func (e *ClaimedError) Unwrap() error { return ErrClaimed }

// Code names a refusal on the wire; "internal" for any other error.
func Code(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "internal"
}

// FromCode is the sentinel error of a code, nil for an unknown one.
func FromCode(code string) error {
	for _, c := range codes {
		if c.code == code {
			return c.err
		}
	}
	return nil
}
