package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const besideTimeout = 2 * time.Second

// besideClient keeps as many connections as there are requests at once.
func besideClient() *http.Client {
	return &http.Client{Timeout: besideTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute}}
}

// askBeside asks what runs beside this program, if BESIDE names it: a program
// that serves before its sidecar does, or after it, cannot answer.
func (s *site) askBeside(ctx context.Context) error {
	if s.beside == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.beside, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := s.besides.Do(req)
	if err != nil {
		return fmt.Errorf("what runs beside does not answer: %w", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return fmt.Errorf("what runs beside was cut off: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("what runs beside answers %s", resp.Status)
	}
	return nil
}
