package hmacauth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Middleware hands on the requests that are signed, each with its body, which was
// read already, and answers the others itself:
//
//	401 missing signature
//	401 invalid signature          whatever is wrong with it
//	413 request body too large     more than maxBody bytes
//	400 cannot read request body
//	429 too many large requests    bodies of others take up the memory for them
//
// The body is read only once the header is one that may be right. How long that may
// take is up to the server's ReadTimeout. Of all bodies that are read at once, and of
// which nobody knows yet who sent them, no more than 64 MiB are kept, those of 64 KiB
// and less aside.
//
// A request with two headers is refused: whoever stands between may see the other.
func (v *Verifier) Middleware(maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := v.authentic(w, r, maxBody)
		if err != nil {
			v.refuse(w, r, err)
			return
		}
		signed := r.WithContext(r.Context()) // a copy: the caller's request stays as it is
		signed.Body, signed.ContentLength = http.NoBody, int64(len(body))
		if len(body) > 0 {
			signed.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, signed)
	})
}

// authentic is the body of a request that is signed.
func (v *Verifier) authentic(w http.ResponseWriter, r *http.Request, maxBody int64) ([]byte, error) {
	header, err := only(r.Header.Values(Header))
	if err != nil {
		return nil, err
	}
	s, err := v.admit(header)
	if err != nil {
		return nil, err
	}
	held := v.unknown.hold()
	defer held.release()
	body, err := readBody(w, r, maxBody, held)
	if err != nil {
		return nil, err
	}
	return body, v.compare(s, r.Method, requestURI(r), body)
}

func only(headers []string) (string, error) {
	switch len(headers) {
	case 0:
		return "", ErrMissing
	case 1:
		return headers[0], nil
	}
	return "", fmt.Errorf("%w: there are %d of them", ErrMalformed, len(headers))
}

// requestURI is the path with its query as the sender wrote them, also where a
// handler before this one has changed the URL.
func requestURI(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// firstRead bounds what is set aside for a body before any of it has come.
const firstRead = 64 << 10

func readBody(w http.ResponseWriter, r *http.Request, maxBody int64, held *holding) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > maxBody {
		// The reader would find out as well, after it has read all of the bound.
		w.Header().Set("Connection", "close")
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(min(r.ContentLength, firstRead)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(held.of(http.MaxBytesReader(w, r.Body, maxBody)))
	if errors.Is(err, errCrowded) {
		w.Header().Set("Connection", "close") // the rest would be read for nothing
	}
	return buf.Bytes(), err
}

func (v *Verifier) refuse(w http.ResponseWriter, r *http.Request, err error) {
	v.refused(r, err)
	status, text := answer(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The sender may be gone, which changes nothing.
	_ = json.NewEncoder(w).Encode(struct {
		Error string `json:"error"`
	}{text})
}

func answer(err error) (status int, text string) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, ErrMissing):
		return http.StatusUnauthorized, "missing signature"
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrStale), errors.Is(err, ErrFuture), errors.Is(err, ErrWrong):
		return http.StatusUnauthorized, "invalid signature"
	case errors.Is(err, errCrowded):
		return http.StatusTooManyRequests, "too many large requests"
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "request body too large"
	default:
		return http.StatusBadRequest, "cannot read request body"
	}
}
