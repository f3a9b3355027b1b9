package engine

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

	"github.com/containerd/errdefs"
)

// attachment is a connection that an engine handed over to a command.
type attachment struct {
	net.Conn
	out *bufio.Reader // what the engine sends, from its first byte on
}

// closeWriter is a connection that can end in one direction alone.
type closeWriter interface{ CloseWrite() error }

// hijack posts a request whose connection becomes a stream. The library can do
// that only over connections it dials by itself, and drops the engine's words
// when it is refused.
func (c *Client) hijack(ctx context.Context, path string, request any) (_ *attachment, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	url := "http://engine/v" + c.cli.ClientVersion() + path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "tcp")
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer func() {
		if !stop() {
			err = ctx.Err() // it is being closed, whatever came of it
		}
		if err != nil {
			conn.Close()
		}
	}()
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	out := bufio.NewReaderSize(conn, readBuffer)
	resp, err := http.ReadResponse(out, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols && resp.StatusCode != http.StatusOK {
		return nil, refusal(resp)
	}
	return &attachment{Conn: conn, out: out}, nil
}

// refusal is an engine's answer as the library would have returned it.
func refusal(resp *http.Response) error {
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDaemonError))
	if err != nil {
		return err
	}
	var said struct{ Message string }
	if json.Unmarshal(text, &said) != nil || said.Message == "" {
		said.Message = fmt.Sprintf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	cause := errors.New(said.Message)
	switch resp.StatusCode {
	case http.StatusNotFound:
		return answered{cause, errdefs.ErrNotFound}
	case http.StatusConflict:
		return answered{cause, errdefs.ErrConflict}
	case http.StatusBadRequest:
		return answered{cause, errdefs.ErrInvalidArgument}
	case http.StatusServiceUnavailable:
		return answered{cause, errdefs.ErrUnavailable}
	}
	return cause
}

// answered is an engine's refusal of a kind.
type answered struct {
	error
	kind error
}

func (a answered) Unwrap() error { return a.kind }
