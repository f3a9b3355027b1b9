package controlclient

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// ErrUnreachable says that no data plane answered on the socket.
var ErrUnreachable = errors.New("the data plane does not answer")

const (
	maxAnswer     = 1 << 20
	maxReportLine = 64 << 20
	callTimeout   = 15 * time.Second
)

// Client talks to one data plane. It may be used by many goroutines.
type Client struct {
	socket string
	http   *http.Client
}

// New is a client for the data plane behind a Unix socket. Nothing is dialled yet.
func New(socket string) *Client {
	d := &net.Dialer{Timeout: 2 * time.Second}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		MaxIdleConns:    2,
		IdleConnTimeout: 30 * time.Second,
	}}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Hello identifies the running data plane. One that speaks another protocol is
// an error that wraps [table.ErrProtocol]. Errors wrap [ErrUnreachable] when
// nobody answers.
func (c *Client) Hello(ctx context.Context) (table.Hello, error) {
	var h table.Hello
	if err := c.call(ctx, http.MethodGet, "/v1/hello", nil, &h); err != nil {
		return h, err
	}
	if h.Protocol != table.Protocol {
		return h, fmt.Errorf("%w: the data plane (pid %d, build %s) speaks protocol %d, this build %d", table.ErrProtocol, h.PID, h.Build, h.Protocol, table.Protocol)
	}
	return h, nil
}

// Push makes t its owner's table and returns once it is durable and in use.
// Refusals wrap the sentinel errors of package table.
func (c *Client) Push(ctx context.Context, t table.Table) (table.Ack, error) {
	var ack table.Ack
	body, err := json.Marshal(t)
	if err != nil {
		return ack, fmt.Errorf("encode the route table: %w", err)
	}
	err = c.call(ctx, http.MethodPut, "/v1/tables/"+string(t.Owner), body, &ack)
	return ack, err
}

// PushCluster has the data plane take the agents of nodes, or none when c listens nowhere,
// and returns once that is durable and in use. Refusals wrap the sentinel errors of
// package table.
func (c *Client) PushCluster(ctx context.Context, cl table.Cluster) (table.ClusterAck, error) {
	var ack table.ClusterAck
	body, err := table.EncodeCluster(cl)
	if err != nil {
		return ack, fmt.Errorf("encode the cluster: %w", err)
	}
	err = c.call(ctx, http.MethodPut, "/v1/cluster", body, &ack)
	return ack, err
}

// Reports calls each with every report, the first at once, until ctx ends, each
// fails or the data plane goes away; it returns why, never nil.
func (c *Client) Reports(ctx context.Context, each func(table.Report) error) error {
	res, err := c.do(ctx, http.MethodGet, "/v1/report", nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(make([]byte, 0, 16<<10), maxReportLine)
	for lines.Scan() {
		var rep table.Report
		if err := json.Unmarshal(lines.Bytes(), &rep); err != nil {
			return fmt.Errorf("read a report of the data plane: %w", err)
		}
		if err := each(rep); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: its report stream on %s ended: %w", ErrUnreachable, c.socket, errors.Join(lines.Err(), io.ErrUnexpectedEOF))
}

func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s %s on %s: read the answer: %w", method, path, c.socket, err)
	}
	return nil
}

// do answers a response of status 200 or an error.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://ingress"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s %s on %s: %w", method, path, c.socket, ctx.Err())
		}
		return nil, fmt.Errorf("%w on %s: %w", ErrUnreachable, c.socket, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	var p table.Problem
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&p); err != nil || p.Message == "" {
		return nil, fmt.Errorf("%s %s on %s: status %s", method, path, c.socket, res.Status)
	}
	return nil, &RefusedError{Status: res.StatusCode, Problem: p}
}

// RefusedError is the data plane's refusal; errors.Is finds the sentinel of
// package table that its code names.
type RefusedError struct {
	Status  int
	Problem table.Problem
}

func (e *RefusedError) Error() string { return "the data plane refused: " + e.Problem.Message }

// Unwrap is the sentinel of the problem's code, or nil; a table.ClaimedError where the
// data plane says which claims another owner has.
func (e *RefusedError) Unwrap() error {
	if len(e.Problem.Claimed) > 0 {
		return &table.ClaimedError{Claims: e.Problem.Claimed, Message: e.Problem.Message}
	}
	return table.FromCode(e.Problem.Code)
}
