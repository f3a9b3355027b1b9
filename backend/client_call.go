package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// call asks an endpoint. It is the only way by which anything is asked.
func call[T any](ctx context.Context, c *HTTPClient, e *endpoint[T], req request) (T, error) {
	var out T
	payload, err := c.prepare(ctx, req)
	if err != nil {
		return out, c.fail(e.operation, err)
	}
	ask := func() (err error) {
		out, err = exchange(ctx, c, e, req, payload)
		return err
	}
	if e.bare {
		err = ask()
	} else {
		err = c.guarded(ctx, ask)
	}
	if err != nil {
		var none T
		return none, c.fail(e.operation, err)
	}
	return out, nil
}

// prepare is all that may go wrong before the backend has to do with it.
func (c *HTTPClient) prepare(ctx context.Context, req request) ([]byte, error) {
	if c.broken != nil {
		return nil, c.broken
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.body == nil {
		return nil, nil
	}
	return json.Marshal(req.body)
}

// exchange sends a request and takes the answer for what it is.
func exchange[T any](ctx context.Context, c *HTTPClient, e *endpoint[T], req request, payload []byte) (out T, err error) {
	began := c.now()
	defer func() { c.observe(e.operation, began, err) }()

	status, body, err := c.send(ctx, &e.route, req, payload)
	tooLarge := errors.Is(err, ErrResponseTooLarge)
	switch {
	case err != nil && (!tooLarge || e.succeeds(status)):
		if tooLarge && e.tenantSized {
			err = uncounted{err}
		}
		return out, err
	case !e.succeeds(status):
		return out, c.refused(&e.route, status, body, tooLarge)
	case status == e.alsoOK, status == http.StatusNoContent:
		return out, nil
	}
	if out, err = e.read(body); err != nil {
		// The decoder repeats what it could not read, however long that is.
		return out, fmt.Errorf("%w: %s", errWrongAnswer, tidy(err.Error()))
	}
	if e.check != nil {
		if err := e.check(req, out); err != nil {
			return out, fmt.Errorf("%w: %w", errWrongAnswer, err)
		}
	}
	return out, nil
}

func (e *endpoint[T]) read(body []byte) (out T, err error) {
	if e.decode != nil {
		return e.decode(body)
	}
	return out, json.Unmarshal(body, &out)
}

func (r *route) succeeds(status int) bool {
	return status == r.success || status == r.alsoOK
}

// send is one request with its answer, both within the timeout. The body is there
// as far as the bound, too, when the error is ErrResponseTooLarge.
func (c *HTTPClient) send(ctx context.Context, r *route, req request, payload []byte) (status int, body []byte, err error) {
	inTime, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	var from io.Reader // an interface with nothing in it is no body
	if payload != nil {
		from = bytes.NewReader(payload)
	}
	out, err := http.NewRequestWithContext(inTime, r.method, c.target(r.path, req), from)
	if err != nil {
		return 0, nil, err
	}
	if payload != nil {
		out.Header.Set("Content-Type", "application/json")
	}
	if c.key != nil && !r.bare {
		c.key.SignRequest(out, payload, c.now())
	}
	resp, err := c.http.Do(out)
	if err != nil {
		return 0, nil, c.whyNot(ctx, inTime, err)
	}
	defer resp.Body.Close()
	bound := int64(maxErrorBytes)
	switch {
	case !r.succeeds(resp.StatusCode):
	case r.bound != nil:
		bound = r.bound(&c.cfg)
	default:
		bound = maxAckBytes
	}
	body, err = readBounded(resp, bound)
	if errors.Is(err, ErrResponseTooLarge) {
		drain(resp.Body, cancel)
		return resp.StatusCode, body, err
	}
	return resp.StatusCode, body, c.whyNot(ctx, inTime, err)
}

// whyNot says of a request that came to nothing that its time was up, where that
// is why. The URL is left out: it may name a hundred leases.
func (c *HTTPClient) whyNot(ctx, inTime context.Context, err error) error {
	if err == nil {
		return nil
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the caller did not wait for the answer: %w", ctx.Err())
	case inTime.Err() != nil:
		return fmt.Errorf("no complete answer within %v: %w", c.cfg.Timeout, inTime.Err())
	}
	return err
}

// observe counts a request that was sent.
func (c *HTTPClient) observe(operation string, began time.Time, err error) {
	status := "success"
	if err != nil {
		status = "error"
	}
	if c.cfg.RequestsTotal != nil {
		c.cfg.RequestsTotal.WithLabelValues(c.cfg.Name, operation, status).Inc()
	}
	if c.cfg.RequestDuration != nil {
		c.cfg.RequestDuration.WithLabelValues(c.cfg.Name, operation, status).Observe(c.now().Sub(began).Seconds())
	}
}

// checkLease is whether id can be that of a lease: a UUID with four hyphens.
func checkLease(id string) error {
	const length = 36
	if len(id) != length || uuid.Validate(id) != nil {
		return fmt.Errorf("%w: %q is not the UUID of a lease", ErrValidation, clip(id))
	}
	return nil
}
