package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// silence is how long a stream may be without even a heartbeat, of which
	// the server sends one every 15 s.
	silence = 45 * time.Second
	// giveUp is how long the daemon may be gone before a follower gives up.
	giveUp     = 2 * time.Minute
	firstRetry = 50 * time.Millisecond
	maxRetry   = 2 * time.Second
)

// Follower receives what happens to an attempt.
type Follower struct {
	Trace   func(wire.TraceEvent)
	Attempt func(wire.Attempt)
	// Lost is called when the stream broke and is being taken up again.
	Lost func(error)
}

// errDone ends a stream whose last event arrived.
var errDone = errors.New("done")

// FollowAttempt delivers the trace of an attempt from the event after the one
// named, and returns the attempt once it is final. A broken stream is taken up
// again where it ended, so a restart of the daemon loses nothing; ErrUnreachable
// comes only once it is gone for two minutes.
func (c *Client) FollowAttempt(ctx context.Context, id, after int64, f Follower) (wire.Attempt, error) {
	var final wire.Attempt
	path := "/v1/attempts/" + strconv.FormatInt(id, 10) + "/events"
	last := ""
	if after > 0 {
		last = strconv.FormatInt(after, 10)
	}
	err := c.follow(ctx, path, nil, &last, f.Lost, func(e event) error {
		switch e.name {
		case wire.EventTrace:
			return decodeTo(e, f.Trace)
		case wire.EventAttempt:
			return decodeTo(e, f.Attempt)
		case wire.EventDone:
			if err := json.Unmarshal(e.data, &final); err != nil {
				return fmt.Errorf("read the outcome of attempt %d: %w", id, err)
			}
			return errDone
		}
		return nil
	})
	return final, err
}

// Logs delivers lines in order until the backlog is at its end or, when q
// follows, until ctx is done. A broken follow is taken up again after the last
// line seen.
func (c *Client) Logs(ctx context.Context, q wire.LogQuery, fn func(wire.LogEntry) error) error {
	return c.logs(ctx, "/v1/apps/"+url.PathEscape(q.App)+"/logs", logValues(q), fn)
}

// logValues is a query for logs in a URL.
func logValues(q wire.LogQuery) url.Values {
	query := url.Values{}
	if q.Service != "" {
		query.Set("service", q.Service)
	}
	for _, member := range q.Members {
		query.Add("member", member)
	}
	if !q.Since.IsZero() {
		query.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Tail > 0 {
		query.Set("tail", strconv.Itoa(q.Tail))
	}
	if q.Follow {
		query.Set("follow", "true")
	}
	return query
}

func (c *Client) logs(ctx context.Context, path string, query url.Values, fn func(wire.LogEntry) error) error {
	last := ""
	handle := func(e event) error {
		switch e.name {
		case wire.EventLog:
			var entry wire.LogEntry
			if err := json.Unmarshal(e.data, &entry); err != nil {
				return fmt.Errorf("read a log line: %w", err)
			}
			return fn(entry)
		case wire.EventEnd:
			return errDone
		case wire.EventError:
			return problemEvent(e)
		}
		return nil
	}
	return c.follow(ctx, path, query, &last, nil, handle)
}

// problemEvent is the problem that ends a stream.
func problemEvent(e event) error {
	p := &wire.Problem{}
	if err := json.Unmarshal(e.data, p); err != nil {
		return fmt.Errorf("read the end of the stream: %w", err)
	}
	return p
}

// follow reads an event stream to its last event and takes it up again when it
// breaks. last is the id to resume after and is kept up to date.
func (c *Client) follow(ctx context.Context, path string, query url.Values, last *string, lost func(error), fn func(event) error) error {
	delay, alive := firstRetry, time.Now()
	connected := false
	for {
		var inner error
		up, err := c.readStream(ctx, path, query, *last, func(e event) error {
			inner = fn(e)
			if inner == nil && e.id != "" {
				*last = e.id
			}
			return inner
		})
		if up {
			connected, delay, alive = true, firstRetry, time.Now()
		}
		var p *wire.Problem
		switch {
		case errors.Is(inner, errDone):
			return nil
		case inner != nil:
			return inner
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &p) && p.Type != wire.ProblemBusy:
			return err
		case !connected, time.Since(alive) > giveUp:
			return err
		}
		if lost != nil {
			lost(err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(delay):
		}
		delay = min(2*delay, maxRetry)
	}
}

// readStream reads one connection's worth of events and says whether the
// server answered at all.
func (c *Client) readStream(ctx context.Context, path string, query url.Values, last string, fn func(event) error) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	header := http.Header{"Accept": {"text/event-stream"}}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	resp, err := c.send(ctx, http.MethodGet, path, query, nil, header)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	if err := readEvents(resp.Body, func() { watchdog.Reset(silence) }, fn); err != nil {
		return true, err
	}
	return true, fmt.Errorf("%w: the stream ended early", ErrUnreachable)
}

func decodeTo[T any](e event, fn func(T)) error {
	if fn == nil {
		return nil
	}
	var v T
	if err := json.Unmarshal(e.data, &v); err != nil {
		return fmt.Errorf("read event %q: %w", e.name, err)
	}
	fn(v)
	return nil
}
