package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// askEvery is the wait between two requests that look for a version: short
	// beside what is measured, long beside what a request costs. Both
	// sides of a pair are looked at equally often.
	askEvery  = 5 * time.Millisecond
	awaitTime = 30 * time.Second
)

// site is one URL that is asked until the wanted version answers.
type site struct {
	url, host string
	client    *http.Client
}

// newSite asks url, with a Host of its own unless host is empty.
func newSite(url, host string) *site {
	return &site{url: url, host: host, client: &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext},
	}}
}

func (s *site) close() { s.client.CloseIdleConnections() }

// await returns once a request was answered with 200 by the version.
func (s *site) await(whole context.Context, version string) error {
	ctx, cancel := context.WithTimeout(whole, awaitTime)
	defer cancel()
	for {
		got, status, err := s.ask(ctx)
		if err == nil && status == http.StatusOK && got == version {
			return nil
		}
		last := fmt.Sprintf("status %d of version %q, %v", status, got, err)
		if !pause(ctx, askEvery) {
			if whole.Err() != nil {
				return whole.Err()
			}
			return fmt.Errorf("version %s did not answer at %s within %s; last: %s", version, s.url, awaitTime, last)
		}
	}
}

func (s *site) ask(ctx context.Context) (version string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	req.Host = s.host
	res, err := s.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)); err != nil {
		return "", 0, err
	}
	return res.Header.Get("X-Version"), res.StatusCode, nil
}
