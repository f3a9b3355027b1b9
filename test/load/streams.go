package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// stream keeps an event stream open. A stream that ends cleanly is opened again
// where it ended; one that is cut, or says nothing for too long, failed.
func stream(ctx context.Context, c Config, client *http.Client, t *tally) {
	repeat(ctx, func() error {
		t.attempt(eventStream)
		err := readStream(ctx, c, client)
		if ctx.Err() != nil {
			return nil // it was we who ended it
		}
		return err
	}, func(err error) { t.failure(eventStream, err) })
}

func readStream(ctx context.Context, c Config, client *http.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url("/sse"), nil)
	if err != nil {
		return err
	}
	watch := time.AfterFunc(answerTimeout, cancel)
	defer watch.Stop()
	began := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /sse: status %d", resp.StatusCode)
	}
	c.opened(began, resp.Header)
	for lines := bufio.NewReader(resp.Body); ; {
		watch.Reset(silence)
		_, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return c.mayEnd(origin(resp.Header))
		case err != nil:
			return fmt.Errorf("GET /sse: the stream was cut: %w", err)
		}
	}
}

// socket keeps a WebSocket open and sends a message on it ten times a second.
func socket(ctx context.Context, c Config, client *http.Client, t *tally) {
	repeat(ctx, func() error {
		t.attempt(webSocket)
		err := talk(ctx, c, client)
		if ctx.Err() != nil {
			return nil
		}
		return err
	}, func(err error) { t.failure(webSocket, err) })
}

// talk returns nil when the other side said, at a drain, that it goes away or
// restarts.
func talk(ctx context.Context, c Config, client *http.Client) error {
	dial, cancel := context.WithTimeout(ctx, answerTimeout)
	began := time.Now()
	conn, resp, err := websocket.Dial(dial, c.url("/ws"), &websocket.DialOptions{HTTPClient: client}) //nolint:bodyclose // Dial has read and replaced it
	cancel()
	if err != nil {
		if resp != nil {
			return fmt.Errorf("GET /ws: status %d", resp.StatusCode)
		}
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // whatever has not ended yet shall not linger
	by := origin(resp.Header)
	c.opened(began, resp.Header)
	for n := 0; ; n++ {
		err := exchange(ctx, conn, fmt.Appendf(nil, "message %d", n))
		switch websocket.CloseStatus(err) {
		case websocket.StatusGoingAway, websocket.StatusServiceRestart:
			return c.mayEnd(by)
		}
		if err != nil {
			return fmt.Errorf("WebSocket: %w", err)
		}
		rest(ctx, 100*time.Millisecond)
	}
}

func exchange(ctx context.Context, conn *websocket.Conn, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	// The other side may have closed just now: then writing fails, and the
	// close frame that says why is still to be read.
	writeErr := conn.Write(ctx, websocket.MessageText, message)
	_, back, err := conn.Read(ctx)
	switch {
	case err != nil:
		return err
	case writeErr != nil:
		return writeErr
	case !bytes.Equal(back, message):
		return fmt.Errorf("sent %q, got back %q", message, back)
	}
	return nil
}
