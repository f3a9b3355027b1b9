package storage

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// maxAnswer bounds the answer to a failed request that is read.
const maxAnswer = 64 << 10

// newTransport is the way to a store when none is given.
func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: min(timeout, 10*time.Second), KeepAlive: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: timeout,
		ExpectContinueTimeout: time.Second,
		// An ETag is of the bytes as they are stored.
		DisableCompression: true,
	}
}

// errNoStore: an answer that decides something did not come from an object store,
// but from something before it that knows no object, such as a proxy.
var errNoStore = errors.New("the answer is not an object store's")

// strictTransport refuses answers that mean "not there" or "not so" and do not say
// it as an object store does, with a code: the client would invent it.
type strictTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t strictTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err != nil || r.Method == http.MethodHead || !decides(resp.StatusCode) {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if codeOf(body) == "" {
		return nil, fmt.Errorf("%w: status %d without a code", errNoStore, resp.StatusCode)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func decides(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed:
		return true
	}
	return false
}

// codeOf is the code in the answer to a failed request.
func codeOf(body []byte) string {
	var answer struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
	}
	if xml.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Code
}
