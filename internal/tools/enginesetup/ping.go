package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxInfo bounds the engine's answer; a real one has a few kilobytes.
const maxInfo = 1 << 20

// engine is the part of the engine's GET /info that set-up looks at.
type engine struct {
	ServerVersion      string
	LiveRestoreEnabled bool
	Swarm              struct{ LocalNodeState string }
}

// ask reads the engine's own description over its Unix socket.
func ask(ctx context.Context, socket string) (engine, error) {
	var e engine
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/info", nil)
	if err != nil {
		return e, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return e, fmt.Errorf("asking the engine at %s: %w", socket, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return e, fmt.Errorf("asking the engine at %s: it answers %s", socket, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxInfo)).Decode(&e); err != nil {
		return e, fmt.Errorf("reading the engine's answer from %s: %w", socket, err)
	}
	return e, nil
}
