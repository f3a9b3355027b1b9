package instances

import (
	"errors"
	"fmt"
	"time"
)

// The failures a caller can tell apart with errors.Is. Those of packages storage,
// secrets, config and infra are wrapped, and can be told apart as well.
var (
	// ErrInvalidRequest: it can never work as it is. Nothing was done.
	ErrInvalidRequest = errors.New("invalid request")
	// ErrMissing: an image, a variable or a secret that the template requires, or
	// uses, is not there. Nothing was done.
	ErrMissing = errors.New("something that the machine needs is missing")
	// ErrTemplate: the user data or an argument is a template that does not work.
	// Nothing was done.
	ErrTemplate = errors.New("template does not work")
	// ErrUserdata: the source of the user data could not be had or decoded, or is
	// too large. Nothing was done.
	ErrUserdata = errors.New("user data not available")
	// ErrNoSubnet: no subnet of the pool has room. Nothing was done.
	ErrNoSubnet = errors.New("no subnet of the pool has room")
	// ErrExists: the instance id belongs to another request.
	ErrExists = errors.New("instance exists already")
	// ErrInstanceNotFound: the store says that this tenant has no such instance.
	ErrInstanceNotFound = errors.New("no such instance")
	// ErrInstanceDeleted: the instance is being deleted, or is gone.
	ErrInstanceDeleted = errors.New("instance is deleted")
	// ErrUnfinished: the machine was perhaps made and its record is there. The same
	// request with the same id goes on; see CreateError.
	ErrUnfinished = errors.New("the machine is not known to be there yet")
	// ErrAbandoned: the create was given up for good. A new instance is needed.
	ErrAbandoned = errors.New("the machine was given up")
	// ErrNotLeader: another process leads the shard, or nobody is known to.
	ErrNotLeader = errors.New("this process does not lead the shard")
	// ErrRecord: a record cannot be read. Nothing is concluded from it.
	ErrRecord = errors.New("unreadable instance record")
	// ErrRegression: a change would take back what a record says.
	ErrRegression = errors.New("a record's field would be taken back")
	// ErrContended: others changed the record at every attempt.
	ErrContended = errors.New("the record is being changed by others")
)

// Of registration and renewal.
var (
	ErrTokenInvalid     = errors.New("the token is not valid")
	ErrTokenExpired     = errors.New("the token has expired")
	ErrTokenNotYetValid = errors.New("the token is not valid yet")
	ErrWrongCluster     = errors.New("the token is for another cluster")
	ErrWrongShard       = errors.New("the token is for another shard")
	// ErrTokenUsed: the token belongs to another key; see TokenUsedError.
	ErrTokenUsed = errors.New("the token was used with another key")
	// ErrWrongKey: the instance is registered with another key.
	ErrWrongKey = errors.New("the instance has another key")
	// ErrDenied: the certificate holds no more.
	ErrDenied = errors.New("the certificate is denied")
	// ErrTooMany: the instance has as many certificates as it may have at once.
	ErrTooMany = errors.New("too many certificates for the instance")
	// ErrNoAuthority: the manager was made without one.
	ErrNoAuthority = errors.New("no certificate authority was given")
)

// CreateError is a create that did not end well after its record was written. A
// request with this id goes on with it, or learns that it was given up.
type CreateError struct {
	InstanceID string
	Err        error
}

// Error says which instance it was.
func (e *CreateError) Error() string {
	return fmt.Sprintf("create instance %s: %v", e.InstanceID, e.Err)
}

// Unwrap is why.
func (e *CreateError) Unwrap() error { return e.Err }

// TokenUsedError is ErrTokenUsed and says who holds the token, for a log.
type TokenUsedError struct {
	InstanceID string
	// Holder and Asked are fingerprints of public keys.
	Holder, Asked string
	ClaimedAt     time.Time
}

// Error names the holder.
func (e *TokenUsedError) Error() string {
	return fmt.Sprintf("%v: that of instance %s is held by key %s since %s, and key %s asked", ErrTokenUsed,
		e.InstanceID, e.Holder, e.ClaimedAt.UTC().Format(time.RFC3339), e.Asked)
}

// Unwrap is ErrTokenUsed.
func (*TokenUsedError) Unwrap() error { return ErrTokenUsed }
