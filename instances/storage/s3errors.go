package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/minio/minio-go/v7"
)

// The codes of stores that decide something; all others are failures.
const (
	codeNoSuchKey    = "NoSuchKey"
	codePrecondition = "PreconditionFailed"
	codeConflict     = "ConditionalRequestConflict"
)

// errorCode is the code of a store's refusal, and empty for any other failure.
func errorCode(err error) string {
	var r minio.ErrorResponse
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// fault is what a failed request means. asked is the caller's context, in which
// the request's own is.
func fault(asked context.Context, op, key string, err error) error {
	switch code := errorCode(err); {
	case code == codeNoSuchKey:
		return failed(op, key, ErrNotFound)
	case code == codePrecondition || code == codeConflict:
		return failed(op, key, ErrPrecondition)
	case code != "":
		return unavailable(op, key, fmt.Errorf("%s: %w", code, err))
	case asked.Err() != nil:
		return failed(op, key, asked.Err())
	}
	// The URL of a request may hold its signature.
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = errSilent // ours, not the caller's
	}
	return unavailable(op, key, err)
}

var errSilent = errors.New("it did not answer in time")
