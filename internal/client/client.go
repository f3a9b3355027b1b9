package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

// DefaultSocket is where the daemon listens unless it was told otherwise.
const DefaultSocket = "/run/berth/berth.sock"

const (
	dialTimeout    = 5 * time.Second
	requestTimeout = 30 * time.Second // of a call that is not a stream
	maxResponse    = 16 << 20         // bytes read of an answer
)

// Client calls one daemon. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
	// refused makes an error of an answer that is none of success.
	refused func(*http.Response) error
}

// New makes a client of the daemon that listens on the Unix socket. It does
// not connect yet.
func New(socket string) *Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &Client{
		socket: socket, refused: problemOf,
		http: &http.Client{
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return dialer.DialContext(ctx, "unix", socket)
				},
				MaxIdleConns:          4,
				IdleConnTimeout:       30 * time.Second,
				ResponseHeaderTimeout: requestTimeout,
				DisableCompression:    true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Socket is the path the client dials.
func (c *Client) Socket() string { return c.socket }

// call sends in (nil: no body) and decodes the answer into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, method, path, query, in, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// send performs a request and turns any status above 299 into an error.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, in any, header http.Header) (*http.Response, error) {
	var body io.Reader
	var mediaType string
	if in != nil {
		data, media, err := encodeBody(in)
		if err != nil {
			return nil, fmt.Errorf("encode the request %s %s: %w", method, path, err)
		}
		body, mediaType = bytes.NewReader(data), media
	}
	target := "http://berth" + path // names in path are escaped already
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make the request %s %s: %w", method, path, err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, nil
}

// problemOf reads the problem document of a refused request. An answer that
// is none becomes one, so that callers have one kind of error.
func problemOf(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	p := &wire.Problem{}
	if err != nil || json.Unmarshal(body, p) != nil || p.Type == "" {
		return &wire.Problem{
			Type:   wire.ProblemInternal,
			Title:  "Unexpected answer",
			Status: resp.StatusCode,
			Detail: fmt.Sprintf("the daemon answered %s without saying why", resp.Status),
			Hint:   "Is it `berthd server` that listens on this socket, and of the same version?\nWhat `berthd backend` listens on is for `berth backend`.",
		}
	}
	p.Status = resp.StatusCode
	return p
}
