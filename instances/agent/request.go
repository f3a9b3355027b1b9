package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/berth-cloud/berth/instances/wire"
)

// refusal is an answer of the control plane that is not what was asked for.
type refusal struct {
	code, text string
}

func (r *refusal) Error() string { return fmt.Sprintf("refused: %s (%s)", r.text, r.code) }

// final says whether an error stays until a person does something.
func final(err error) bool {
	var r *refusal
	return errors.As(err, &r) && wire.Final(r.code)
}

// post sends one request over a connection of its own, whose session body may be bound to.
// The answer is bounded, and a redirect is an answer like any other.
func (a *Agent) post(ctx context.Context, path string, peer wire.Peer, body func(*tls.Conn) (any, error)) (*wire.Registration, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Connect)
	defer cancel()
	conn, err := a.connect(ctx, a.boot.RegistrationAddr, peer)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.NetConn().Close() })
	defer stop()
	message, err := body(conn)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+a.boot.RegistrationAddr+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	if err := req.Write(conn); err != nil {
		return nil, fmt.Errorf("ask %s: %w", a.boot.RegistrationAddr, err)
	}
	// The head of an answer is bounded as well.
	res, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 2*wire.MaxBody)), req)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", a.boot.RegistrationAddr, err)
	}
	defer res.Body.Close()
	return readAnswer(res)
}

func readAnswer(res *http.Response) (*wire.Registration, error) {
	data, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read an answer: %w", err)
	case len(data) > wire.MaxBody:
		return nil, fmt.Errorf("the answer is longer than %d bytes", wire.MaxBody)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusCreated {
		var p wire.Problem
		if json.Unmarshal(data, &p) != nil || p.Code == "" {
			return nil, fmt.Errorf("the answer is %d, and not in the words of a control plane", res.StatusCode)
		}
		return nil, &refusal{code: wire.Clip(p.Code), text: wire.Clip(p.Error)}
	}
	var r wire.Registration
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, errors.New("the answer is not a registration")
	}
	return &r, nil
}

// connect dials one end of the control plane, which must have the peer's role.
func (a *Agent) connect(ctx context.Context, addr string, peer wire.Peer, protocols ...string) (*tls.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	raw, err := a.cfg.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(wire.Uncut(raw), peer.Client(host, protocols...))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("greet %s: %w", addr, err)
	}
	return conn, nil
}
