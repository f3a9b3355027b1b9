package outbox

import (
	"encoding/json"
	"fmt"
	neturl "net/url"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// Bounds of what Add takes, in bytes.
const (
	MaxOperation = 128
	MaxURL       = 2048
	// maxBackendName is what a receiver takes.
	maxBackendName = 256
)

// checked is the name of the lease in the store and the body of a callback. What no
// receiver would ever take is ErrInvalid: it would be sent for a day.
func checked(lease, url, operation string, p backend.CallbackPayload) (name, body string, err error) {
	if name, err = leaseName(lease); err != nil {
		return "", "", err
	}
	if p.LeaseUUID == "" {
		p.LeaseUUID = name
	}
	switch {
	case !strings.EqualFold(p.LeaseUUID, name):
		return "", "", fmt.Errorf("%w: it is about another lease", ErrInvalid)
	case p.Status != backend.CallbackStatusSuccess && p.Status != backend.CallbackStatusFailed && p.Status != backend.CallbackStatusDeprovisioned:
		return "", "", fmt.Errorf("%w: %q is no status of a callback", ErrInvalid, p.Status)
	case len(p.Backend) > maxBackendName:
		return "", "", fmt.Errorf("%w: the name of the backend has more than %d bytes", ErrInvalid, maxBackendName)
	case !isOperation(operation):
		return "", "", fmt.Errorf("%w: its operation is not 1 to %d visible characters", ErrInvalid, MaxOperation)
	case !isTarget(url):
		return "", "", fmt.Errorf("%w: nothing can be sent to its URL", ErrInvalid)
	}
	p.Error = line(p.Error)
	text, err := json.Marshal(p)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return name, string(text), nil
}

// leaseName is the UUID of a lease in small letters: one lease has one record.
func leaseName(lease string) (string, error) {
	id, err := uuid.Parse(lease)
	// uuid.Parse knows longer and shorter forms.
	if err != nil || len(lease) != len(uuid.UUID{}.String()) {
		return "", fmt.Errorf("%w: its lease is not a UUID", ErrInvalid)
	}
	return id.String(), nil
}

func isOperation(text string) bool {
	return text != "" && len(text) <= MaxOperation &&
		strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// isTarget is whether a request can be made. Where it may go is for the client, which
// knows the addresses.
func isTarget(text string) bool {
	if text == "" {
		return true
	}
	u, err := neturl.Parse(text)
	return err == nil && len(text) <= MaxURL && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// line is text for a tenant: UTF-8 without control characters, and no longer than a
// callback may have it.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	count := 0
	for i := range text {
		if count == backend.MaxCallbackError {
			return text[:i]
		}
		count++
	}
	return text
}
