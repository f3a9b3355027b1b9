package server

import (
	"errors"
	"net/http"

	"github.com/berth-cloud/berth/backend"
)

// Words of answers that tell nothing of the inside.
const (
	textInternal = "internal error"
	textTooLarge = "request body too large"
)

// codeRestoreRefused is a code of 422 that no client knows, by which it takes the
// answer for ErrRestoreRefused.
const codeRestoreRefused backend.ErrorCode = "restore_refused"

// refusal is how an error of the contract is said on the wire.
type refusal struct {
	err  error
	http int
	code backend.ErrorCode
	// whole relays the words of the error, which its backend wrote for the holder
	// of the lease. Else the kind has to do.
	whole bool
}

// refusals are asked in this order.
var refusals = []refusal{
	{err: backend.ErrValidation, http: http.StatusBadRequest, whole: true},
	{err: backend.ErrNotProvisioned, http: http.StatusNotFound},
	{err: backend.ErrAlreadyProvisioned, http: http.StatusConflict, code: backend.ErrorCodeAlreadyProvisioned},
	{err: backend.ErrInvalidState, http: http.StatusConflict, whole: true},
	{err: backend.ErrNotRetained, http: http.StatusUnprocessableEntity},
	{err: backend.ErrDemoteDataExceedsTier, http: http.StatusUnprocessableEntity, code: backend.ErrorCodeDemoteExceedsTier, whole: true},
	{err: backend.ErrRestoreRefused, http: http.StatusUnprocessableEntity, code: codeRestoreRefused, whole: true},
	{err: backend.ErrInsufficientResources, http: http.StatusServiceUnavailable, whole: true},
}

// refuse says an error. One that is not among those the operation may have is not
// known: the caller logs it.
func refuse(err error, may []error) (a answer, known bool) {
	for _, r := range refusals {
		if !errors.Is(err, r.err) || !contains(may, r.err) {
			continue
		}
		text := r.err.Error()
		if r.whole {
			text = clean(err.Error())
		}
		body := backend.ErrorResponse{Error: text, Code: r.code}
		if r.http == http.StatusBadRequest {
			body.ValidationCode = backend.ClassifyValidationError(err)
		}
		return answer{r.http, body}, true
	}
	return answer{http.StatusInternalServerError, backend.ErrorResponse{Error: textInternal}}, false
}

func contains(all []error, one error) bool {
	for _, err := range all {
		if err == one { //nolint:errorlint // both are sentinels of tables
			return true
		}
	}
	return false
}

// requestError is a request that is refused before the backend is asked.
type requestError struct {
	http int
	text string
	code backend.ValidationCode
}

func (e *requestError) Error() string { return e.text }

func badRequest(text string) error { return &requestError{http: http.StatusBadRequest, text: text} }

func (e *requestError) answer() answer {
	return answer{e.http, backend.ErrorResponse{Error: clean(e.text), ValidationCode: e.code}}
}
