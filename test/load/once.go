package load

import (
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// errSentAgain: a client without this transport's habits would have seen an error.
var errSentAgain = errors.New("the connection was closed under the request, and the transport sent it again")

// once refuses the second try that the standard transport makes by itself when
// a kept connection is closed under a request.
type once struct{ next http.RoundTripper }

var _ http.RoundTripper = once{}

// RoundTrip implements [http.RoundTripper].
func (o once) RoundTrip(req *http.Request) (*http.Response, error) {
	var tries atomic.Int32
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { tries.Add(1) },
	})
	resp, err := o.next.RoundTrip(req.WithContext(ctx))
	if err == nil && tries.Load() > 1 {
		resp.Body.Close()
		return nil, errSentAgain
	}
	return resp, err
}
