package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// maxSignedCall is how long a signed call may take, of an unsigned one without us.
const maxSignedCall = 1.5

const (
	callPairs = 101
	callBatch = 50 // calls of one side of a pair
)

// fixed is a backend that takes everything and tells of one lease.
type fixed struct{ *backend.MockBackend }

func (fixed) Provision(context.Context, backend.ProvisionRequest) error { return nil }

func (fixed) GetInfo(context.Context, string) (*backend.LeaseInfo, error) { return fixedInfo(), nil }

func fixedInfo() *backend.LeaseInfo {
	ports := map[string]backend.PortBinding{"8080/tcp": {HostIP: "192.0.2.1", HostPort: "32768"}}
	return &backend.LeaseInfo{
		Host: "192.0.2.1", FQDN: "app-0-1234567.leases.example", Protocol: "http", Ports: ports,
		Services: map[string]backend.LeaseService{"app": {Instances: []backend.LeaseInstance{{
			ContainerID: "0123456789ab", Image: "docker.io/library/program:1", Status: "running", FQDN: "app-0-1234567.leases.example", Ports: ports,
		}}}},
	}
}

// measureSignedCalls makes calls by our client to our server, and the same without
// either, in turns.
func measureSignedCalls(ctx context.Context, _ options) ([]line, error) {
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "bench"})
	handler, err := signedServer(fixed{mock})
	if err != nil {
		return nil, err
	}
	ours, err := serve(ctx, handler)
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	theirs, err := serve(ctx, plainBackend())
	if err != nil {
		return nil, err
	}
	defer theirs.stop()
	client := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "bench", BaseURL: ours.url, Secret: backendSecret})
	defer client.Close()
	plain := &plainClient{url: theirs.url, http: &http.Client{Transport: &http.Transport{}}}
	defer plain.http.CloseIdleConnections()

	var lines []line
	for _, c := range []struct {
		name        string
		ours, plain func(context.Context) error
	}{
		{"Provision",
			func(ctx context.Context) error { return client.Provision(ctx, provisionOf(1)) },
			func(ctx context.Context) error { return plain.provision(ctx, provisionOf(1)) }},
		{"GetInfo",
			func(ctx context.Context) error { _, err := client.GetInfo(ctx, leaseID(1)); return err },
			func(ctx context.Context) error { _, err := plain.info(ctx, leaseID(1)); return err }},
	} {
		l, err := callLine(ctx, c.name, c.ours, c.plain)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func callLine(ctx context.Context, name string, ours, plain func(context.Context) error) (line, error) {
	sides := []func(context.Context) error{ours, plain}
	took := [2][]time.Duration{}
	var ratios []float64
	for n := range callPairs + 1 {
		var pair [2]time.Duration
		for turn := range sides {
			side := (turn + n) % 2
			d, err := batch(ctx, sides[side])
			if err != nil {
				return line{}, err
			}
			pair[side] = d
		}
		if n == 0 {
			continue // connections are made, and memory is asked for
		}
		ratios = append(ratios, float64(pair[0])/float64(pair[1]))
		for side, d := range pair {
			took[side] = append(took[side], d)
		}
	}
	return line{
		What: "backend, signed " + name + " by our client through our server: against the same call unsigned on bare net/http", Value: median(ratios), Format: "%.2f ×", Target: maxSignedCall,
		Detail: fmt.Sprintf("%d pairs of %d calls, middle half %.2f to %.2f; medians %s and %s a call", callPairs, callBatch, quantile(ratios, 0.25), quantile(ratios, 0.75),
			(median(took[0]) / callBatch).Round(100*time.Nanosecond), (median(took[1]) / callBatch).Round(100*time.Nanosecond)),
	}, nil
}

func batch(ctx context.Context, call func(context.Context) error) (time.Duration, error) {
	began := time.Now()
	for range callBatch {
		if err := call(ctx); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// plainBackend answers the two calls as one would who trusts everybody.
func plainBackend() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /provision", func(w http.ResponseWriter, r *http.Request) {
		var req backend.ProvisionRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		plainly(w, http.StatusAccepted, backend.ProvisionResponse{ProvisionID: req.LeaseUUID})
	})
	mux.HandleFunc("GET /info/{lease}", func(w http.ResponseWriter, _ *http.Request) { plainly(w, http.StatusOK, fixedInfo()) })
	return mux
}

// plainClient makes the two calls with net/http and encoding/json alone.
type plainClient struct {
	url  string
	http *http.Client
}

func (c *plainClient) provision(ctx context.Context, req backend.ProvisionRequest) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	var out backend.ProvisionResponse
	return c.ask(ctx, http.MethodPost, "/provision", body, http.StatusAccepted, &out)
}

func (c *plainClient) info(ctx context.Context, lease string) (*backend.LeaseInfo, error) {
	out := new(backend.LeaseInfo)
	return out, c.ask(ctx, http.MethodGet, "/info/"+lease, nil, http.StatusOK, out)
}

func (c *plainClient) ask(ctx context.Context, method, path string, body []byte, status int, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != status {
		return fmt.Errorf("answered with %s", resp.Status)
	}
	return json.Unmarshal(text, out)
}
