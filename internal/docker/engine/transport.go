package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 30 * time.Second
	idleConns   = 8
	// maxNetworkBody bounds the one request body that is rewritten.
	maxNetworkBody = 1 << 20
)

type dialFunc func(ctx context.Context) (net.Conn, error)

// resolveHost turns a host and an optional dialer into the library's host and
// a dialer.
func resolveHost(host string, dial dialFunc) (string, dialFunc, error) {
	switch {
	case host == "":
		host = DefaultHost
	case strings.HasPrefix(host, "/"):
		host = "unix://" + host
	}
	if dial != nil {
		if !strings.Contains(host, "://") {
			host = "tcp://" + host
		}
		return host, dial, nil
	}
	network, addr, ok := strings.Cut(host, "://")
	if !ok || addr == "" || (network != "unix" && network != "tcp") {
		return "", nil, fmt.Errorf("docker engine host %q: want unix:///path or tcp://host:port", host)
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	return host, func(ctx context.Context) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}, nil
}

// newTransport knows neither proxies nor the environment: an engine is dialled
// directly or not at all.
func newTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx)
		},
		DisableCompression:  true,
		MaxIdleConns:        idleConns,
		MaxIdleConnsPerHost: idleConns,
		IdleConnTimeout:     idleTimeout,
	}
}

// amendingTransport adds what the library leaves out: a refusal of a second
// network of one name by engines before API 1.44, and the moment at which an
// event stream's response begins.
type amendingTransport struct{ base http.RoundTripper }

// streamBegan is the context key of a func() that is called when the response
// to a GET of /events begins with success.
type streamBegan struct{}

func (t *amendingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/networks/create") {
		amended, err := refuseDuplicate(req)
		if err != nil {
			return nil, err
		}
		req = amended
	}
	resp, err := t.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusOK && strings.HasSuffix(req.URL.Path, "/events") {
		if began, ok := req.Context().Value(streamBegan{}).(func()); ok {
			began()
		}
	}
	return resp, err
}

// refuseDuplicate sets CheckDuplicate, without which an engine before API 1.44
// makes a second network of the same name and only warns.
func refuseDuplicate(req *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxNetworkBody))
	req.Body.Close()
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("network request: %w", err)
	}
	fields["CheckDuplicate"] = json.RawMessage("true")
	if body, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	amended := req.Clone(req.Context())
	amended.Body = io.NopCloser(bytes.NewReader(body))
	amended.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	amended.ContentLength = int64(len(body))
	return amended, nil
}
