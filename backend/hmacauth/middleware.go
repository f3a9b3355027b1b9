package hmacauth

import (
	"bytes"
	"encoding/json"
	"errors"
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
//
// The body is read only once the header is one that may be right. How long that may
// take is up to the server's ReadTimeout.
func (v *Verifier) Middleware(maxBody int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := v.admit(r.Header.Get(Header))
		if err != nil {
			v.refuse(w, r, err)
			return
		}
		body, err := readBody(w, r, maxBody)
		if err != nil {
			v.refuse(w, r, err)
			return
		}
		if err := v.compare(s, r.Method, requestURI(r), body); err != nil {
			v.refuse(w, r, err)
			return
		}
		signed := r.WithContext(r.Context()) // a copy: the caller's request stays as it is
		signed.Body = io.NopCloser(bytes.NewReader(body))
		signed.ContentLength = int64(len(body))
		next.ServeHTTP(w, signed)
	})
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

func readBody(w http.ResponseWriter, r *http.Request, maxBody int64) ([]byte, error) {
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
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
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
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "request body too large"
	default:
		return http.StatusBadRequest, "cannot read request body"
	}
}
