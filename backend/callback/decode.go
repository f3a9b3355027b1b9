package callback

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// maxBackendName bounds the name that a backend gives itself, in bytes.
const maxBackendName = 256

// What a sender is told of a body that is not a callback.
var (
	errBody    = errors.New("the body is not the JSON object of a callback")
	errLease   = errors.New("lease_uuid is not a UUID")
	errStatus  = errors.New("status is none that a callback has")
	errBackend = errors.New("backend is too long")
)

// decode reads a callback, passing over fields that it does not know. The words of
// an error go on to tenants: they are made one line, and bounded.
func decode(body io.Reader) (backend.CallbackPayload, error) {
	var p *backend.CallbackPayload
	text, err := io.ReadAll(io.LimitReader(body, MaxBodyBytes+1))
	if err != nil || len(text) > MaxBodyBytes || json.Unmarshal(text, &p) != nil || p == nil {
		return backend.CallbackPayload{}, errBody
	}
	id, err := uuid.Parse(p.LeaseUUID)
	if err != nil || len(p.LeaseUUID) != len(uuid.UUID{}.String()) {
		return backend.CallbackPayload{}, errLease
	}
	p.LeaseUUID = id.String()
	switch p.Status {
	case backend.CallbackStatusSuccess, backend.CallbackStatusFailed, backend.CallbackStatusDeprovisioned:
	default:
		return backend.CallbackPayload{}, errStatus
	}
	if len(p.Backend) > maxBackendName {
		return backend.CallbackPayload{}, errBackend
	}
	p.Error = line(p.Error)
	return *p, nil
}

// line is text without control characters, of at most MaxCallbackError characters.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	count := 0
	for i := range text {
		if count == backend.MaxCallbackError {
			return text[:i]
		}
		count++
	}
	return text
}
