package backend

import (
	"errors"
	"fmt"
)

var (
	// ErrNotProvisioned: the backend does not have the lease, or not in a state
	// that the call needs.
	ErrNotProvisioned = errors.New("lease not provisioned")
	// ErrAlreadyProvisioned: the lease is there already.
	ErrAlreadyProvisioned = errors.New("lease already provisioned")
	// ErrInvalidState: the lease is in a state that allows no such operation.
	ErrInvalidState = errors.New("invalid state for operation")
	// ErrInsufficientResources: there is no room for the lease now.
	ErrInsufficientResources = errors.New("insufficient resources")
	// ErrNotRetained: nothing is retained of the lease for this tenant.
	ErrNotRetained = errors.New("no retained data for lease")
	// ErrRestoreRefused: a restore was refused for a reason that this version does
	// not know; the message has it.
	ErrRestoreRefused = errors.New("restore refused")
	// ErrDemoteDataExceedsTier: the retained data is larger than what the new lease
	// may hold, or cannot be measured.
	ErrDemoteDataExceedsTier = errors.New("retained data exceeds the new tier")
	// ErrValidation: the request can never succeed as it is.
	ErrValidation = errors.New("validation error")
	// ErrCircuitOpen: the backend failed so often that it is not asked for a while.
	ErrCircuitOpen = errors.New("circuit breaker is open")
	// ErrResponseTooLarge: an answer was larger than the bound for it.
	ErrResponseTooLarge = errors.New("response body too large")
	// ErrMalformedErrorBody: an answer had the status of a refusal and not the body
	// of one, so that somebody in between may have sent it. It says nothing about
	// the request.
	ErrMalformedErrorBody = errors.New("malformed error body")
)

// Kinds of ErrValidation that have a code on the wire.
var (
	ErrUnknownSKU      = fmt.Errorf("%w: unknown SKU", ErrValidation)
	ErrInvalidManifest = fmt.Errorf("%w: invalid manifest", ErrValidation)
	ErrImageNotAllowed = fmt.Errorf("%w: image not allowed", ErrValidation)
)

// ValidationCode names a kind of ErrValidation on the wire.
type ValidationCode string

// The kinds that have a code.
const (
	ValidationCodeUnknownSKU      ValidationCode = "unknown_sku"
	ValidationCodeInvalidManifest ValidationCode = "invalid_manifest"
	ValidationCodeImageNotAllowed ValidationCode = "image_not_allowed"
)

// validationErrors are the kinds with their codes, in the order in which they are
// asked for.
var validationErrors = []struct {
	code ValidationCode
	err  error
}{
	{ValidationCodeUnknownSKU, ErrUnknownSKU},
	{ValidationCodeInvalidManifest, ErrInvalidManifest},
	{ValidationCodeImageNotAllowed, ErrImageNotAllowed},
}

// ClassifyValidationError is the code of an error's kind; "" when it has none.
func ClassifyValidationError(err error) ValidationCode {
	for _, v := range validationErrors {
		if errors.Is(err, v.err) {
			return v.code
		}
	}
	return ""
}

// ErrorCode tells apart refusals that share a status.
type ErrorCode string

// Codes of 409 and 422.
const (
	ErrorCodeAlreadyProvisioned ErrorCode = "already_provisioned"
	ErrorCodeDemoteExceedsTier  ErrorCode = "demote_exceeds_tier"
)

// ErrorResponse is the body of every answer that is not a success.
type ErrorResponse struct {
	Error          string         `json:"error"`
	ValidationCode ValidationCode `json:"validation_code,omitempty"`
	Code           ErrorCode      `json:"code,omitempty"`
}
