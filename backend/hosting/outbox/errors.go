package outbox

import "errors"

var (
	// ErrInvalid: a callback can never be sent as it is. Nothing was stored.
	ErrInvalid = errors.New("the callback is not valid")

	// ErrFull: MaxPending callbacks of the lease wait.
	ErrFull = errors.New("too many callbacks wait")

	// ErrBusy: a callback of the lease is under way, or was when its sender was
	// killed. That is over within 20 s.
	ErrBusy = errors.New("a callback is under way")

	// ErrRecord: what is in the store cannot be read. It is left as it is.
	ErrRecord = errors.New("the record of callbacks cannot be read")
)
