package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errWrongAnswer is an answer with the right status that is none to the request.
var errWrongAnswer = errors.New("the answer is not one of a backend")

// refusal is what an error body means under the status of one; known is whether
// this version knows the code in it.
type refusal func(body ErrorResponse) (err error, known bool)

// refusedAs is a status with one meaning.
func refusedAs(err error) refusal {
	return func(body ErrorResponse) (error, bool) { return err, body.Code == "" }
}

// refusedByCode is a status that means plain without a code, coded with the code,
// and other with another one.
func refusedByCode(plain error, code ErrorCode, coded, other error) refusal {
	return func(body ErrorResponse) (error, bool) {
		switch body.Code {
		case "":
			return plain, true
		case code:
			return coded, true
		default:
			return other, false
		}
	}
}

func refusedValidation(body ErrorResponse) (err error, known bool) {
	for _, v := range validationErrors {
		if v.code == body.ValidationCode {
			return v.err, true
		}
	}
	return ErrValidation, body.ValidationCode == ""
}

// refused is the error of an answer that is no success. tooLarge is whether the body
// was cut short.
func (c *HTTPClient) refused(r *route, status int, body []byte, tooLarge bool) error {
	means, ok := r.refusals[status]
	if !ok && status != http.StatusBadRequest {
		return unexpected(status, body)
	}
	var parsed ErrorResponse
	if !bareAllowed(status, body) || !ok {
		if err := json.Unmarshal(body, &parsed); err != nil || parsed.Error == "" || tooLarge {
			return c.malformed(r, status, body)
		}
	}
	if !ok {
		return unexpected(status, body)
	}
	err, known := means(parsed)
	if !known {
		c.log.Warn("refusal with a code that is not known here", "backend", c.cfg.Name, "operation", r.operation,
			"status", status, "code", tidy(string(parsed.Code)), "validation_code", tidy(string(parsed.ValidationCode)))
	}
	return worded(err, parsed.Error)
}

// bareAllowed is whether a body says enough by being empty: two statuses have a
// meaning without one.
func bareAllowed(status int, body []byte) bool {
	return len(body) == 0 && (status == http.StatusConflict || status == http.StatusUnprocessableEntity)
}

// malformed reports a body that a backend would not have sent.
func (c *HTTPClient) malformed(r *route, status int, body []byte) error {
	if c.cfg.MalformedErrors != nil {
		c.cfg.MalformedErrors.WithLabelValues(c.cfg.Name).Inc()
	}
	c.log.Warn("answer without the body of an error; something between here and the backend may have sent it",
		"backend", c.cfg.Name, "operation", r.operation, "status", status, "body", tidy(string(body)))
	return fmt.Errorf("%w: the status is %s", ErrMalformedErrorBody, statusText(status))
}

// unexpected is a status that is nothing but a failure. Words are given when they
// are those of a backend.
func unexpected(status int, body []byte) error {
	var parsed ErrorResponse
	err := fmt.Errorf("the status is %s", statusText(status))
	if json.Unmarshal(body, &parsed) != nil {
		return err
	}
	return worded(err, parsed.Error)
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// worded adds the words of the backend, without those that err has already.
func worded(err error, words string) error {
	words = strings.TrimLeft(strings.TrimPrefix(tidy(words), err.Error()), ": ")
	if words == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, words)
}

// maxWords bounds what is repeated of an answer, in bytes.
const maxWords = 512

// tidy is text fit for one line: no control characters, bounded, valid UTF-8.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text[:min(len(text), maxErrorBytes)])
	if text = strings.TrimSpace(text); len(text) <= maxWords {
		return text
	}
	end := maxWords
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
