package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// Bounds of single fields, in bytes.
const (
	maxNameBytes = 256 // a tenant, a provider, a SKU, a service, a domain
	maxURLBytes  = 2048
)

// decode reads a body that is one JSON object. Fields that it does not know are
// passed over: the other side may be newer.
func decode(req *http.Request, into any) error {
	body, err := io.ReadAll(req.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &requestError{http: http.StatusRequestEntityTooLarge, text: textTooLarge}
	case err != nil:
		return badRequest("the body could not be read")
	}
	if !utf8.Valid(body) {
		return badRequest("the body is not UTF-8") // two names would become one
	}
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '{' || json.Unmarshal(body, into) != nil {
		return badRequest("the body is not the JSON object of this request")
	}
	return nil
}

// leaseID checks the UUID of a lease, and puts it in lower case: one lease must
// have one name.
func leaseID(field string, text *string) error {
	if *text == "" {
		return badRequest(field + " is missing")
	}
	// The package knows longer and shorter forms, which the order of lists does not.
	const length = 36
	if len(*text) != length || uuid.Validate(*text) != nil {
		return badRequest(field + " is not a UUID")
	}
	*text = strings.ToLower(*text)
	return nil
}

// callbackURL checks where a callback is to go. What a name resolves to is for
// whoever dials it.
func callbackURL(text string) error {
	if text == "" {
		return badRequest("callback_url is missing")
	}
	if len(text) > maxURLBytes {
		return badRequest(fmt.Sprintf("callback_url is longer than %d bytes", maxURLBytes))
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return badRequest("callback_url is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return badRequest("callback_url is neither http nor https")
	case u.Hostname() == "":
		return badRequest("callback_url has no host")
	case linkLocal(u.Hostname()):
		return badRequest("callback_url is a link-local address")
	}
	return nil
}

// linkLocal finds the addresses at which clouds tell machines their secrets.
func linkLocal(host string) bool {
	addr, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	return addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast()
}

// items checks those of a request and names them.
func items(all *[]backend.LeaseItem) error {
	if len(*all) > backend.MaxQuantity {
		return badRequest(fmt.Sprintf("items are more than %d", backend.MaxQuantity))
	}
	for _, item := range *all {
		if err := first(name("a SKU of items", item.SKU), name("a service_name of items", item.ServiceName), name("a custom_domain of items", item.CustomDomain)); err != nil {
			return err
		}
	}
	named, err := backend.NormalizeItems(*all)
	if err != nil {
		return &requestError{http: http.StatusBadRequest, text: err.Error(), code: backend.ClassifyValidationError(err)}
	}
	*all = named
	return nil
}

// name bounds a field that the backend takes as it is. The replacement character
// stands for half of one, of which there are many: two names would become one.
func name(field, text string) error {
	if len(text) > maxNameBytes {
		return badRequest(fmt.Sprintf("%s is longer than %d bytes", field, maxNameBytes))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return badRequest(field + " has characters that no name has")
	}
	return nil
}

// payload checks a manifest against the hash that its holder knows it by.
func payload(manifest []byte, hash string) error {
	if hash == "" {
		return nil
	}
	want, err := hex.DecodeString(hash)
	if got := sha256.Sum256(manifest); err != nil || !bytes.Equal(got[:], want) {
		return &requestError{
			http: http.StatusBadRequest,
			text: "payload_hash is not the SHA-256 of the payload",
			code: backend.ValidationCodeInvalidManifest,
		}
	}
	return nil
}

// first is the first error of checks that are all made.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
