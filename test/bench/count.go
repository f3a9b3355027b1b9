package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// dialled counts the requests that go over the connections it dials: what an
// operation asks of the engine is counted the same way for every client.
type dialled struct {
	network, address string
	requests         atomic.Int64
}

// newDialled dials a host such as unix:///var/run/docker.sock.
func newDialled(host string) (*dialled, error) {
	network, address, ok := strings.Cut(host, "://")
	if !ok || network != "unix" && network != "tcp" {
		return nil, errors.New("-docker takes unix:///path or tcp://host:port")
	}
	return &dialled{network: network, address: address}, nil
}

func (d *dialled) dial(ctx context.Context) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, requests: &d.requests}, nil
}

// counted is a connection of HTTP/1.1, on which every request begins a write.
type counted struct {
	net.Conn
	requests *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	if word, _, ok := bytes.Cut(p[:min(len(p), len("DELETE "))], []byte(" ")); ok {
		switch string(word) {
		case "GET", "HEAD", "POST", "PUT", "DELETE":
			c.requests.Add(1)
		}
	}
	return c.Conn.Write(p)
}

// CloseWrite ends the input of a command that the connection carries.
func (c *counted) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.New("the connection cannot be closed for writing alone")
	}
	return half.CloseWrite()
}

// countedStore counts what is written to a store; with the directory each write
// waits for the disk.
type countedStore struct {
	provider.StateStore
	writes atomic.Int64
}

func (s *countedStore) Put(ctx context.Context, key string, value []byte, prior provider.Version) (provider.Version, error) {
	s.writes.Add(1)
	return s.StateStore.Put(ctx, key, value, prior)
}

func (s *countedStore) Delete(ctx context.Context, key string, prior provider.Version) error {
	s.writes.Add(1)
	return s.StateStore.Delete(ctx, key, prior)
}
