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

const (
	// maxAnswer bounds the answer to a failed request that is read.
	maxAnswer = 64 << 10
	// maxPage bounds a page of a list, which has at most 1000 objects.
	maxPage = 16 << 20
)

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

// codeNoStore stands in for an answer that decides something and did not come from
// an object store, but from something before it that knows no object.
const codeNoStore = "NotAnObjectStoresAnswer"

// strictTransport refuses answers that mean "not there", "not so" or "nothing
// more" and do not say it as an object store does: the client would take a
// proxy's page for a missing key, or for an empty list.
type strictTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t strictTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	list := r.Method == http.MethodGet && r.URL.Query().Has("list-type")
	switch {
	case resp.StatusCode == http.StatusOK && list:
		return checked(resp, maxPage, isPage)
	case resp.StatusCode/100 == 3:
		// Where a redirect leads is not followed: it was not asked for.
		resp.StatusCode, resp.Status = http.StatusBadRequest, "400 Bad Request"
		return checked(resp, maxAnswer, func(body []byte) bool { return codeOf(body) != "" })
	case !decides(resp.StatusCode):
		return resp, nil
	case r.Method != http.MethodHead:
		return checked(resp, maxAnswer, func(body []byte) bool { return codeOf(body) != "" })
	case resp.StatusCode != http.StatusNotFound:
		return checked(resp, maxAnswer, func([]byte) bool { return false })
	}
	return resp, nil
}

// checked is an answer whose body is one that a store gives, or a refusal.
func checked(resp *http.Response, most int64, fits func([]byte) bool) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if int64(len(body)) > most || !fits(body) {
		resp.StatusCode, resp.Status = http.StatusBadRequest, "400 Bad Request"
		body = fmt.Appendf(nil, "<Error><Code>%s</Code><Message>a proxy answered, or no object store</Message></Error>", codeNoStore)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
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

// isPage says whether a body is a page of a list that says whether it is the last.
func isPage(body []byte) bool {
	var page struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		IsTruncated *bool
	}
	return xml.Unmarshal(body, &page) == nil && page.IsTruncated != nil
}
