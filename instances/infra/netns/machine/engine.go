package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"
)

// engineArgs writes the engine's configuration and returns its arguments. The
// storage driver is the engine's own choice.
func engineArgs(spec Spec) ([]string, error) {
	raw, err := json.MarshalIndent(map[string]any{
		"data-root": EngineRoot, "exec-root": execRoot, "pidfile": enginePID,
		"hosts": []string{"unix://" + EngineSocket},
		"bip":   spec.Bridge, "cgroup-parent": spec.CgroupParent,
		"exec-opts":      []string{"native.cgroupdriver=cgroupfs"},
		"userland-proxy": false, "log-level": "warn",
		// An engine that ends takes no container with it.
		"live-restore":        true,
		"shutdown-timeout":    spec.GraceSeconds,
		"insecure-registries": append([]string{}, spec.InsecureRegistries...),
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(runDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(engineConfig, append(raw, '\n'), 0o600); err != nil {
		return nil, err
	}
	return []string{"--config-file", engineConfig}, nil
}

// engine is the machine's engine as far as its first process needs it.
type engine struct{ client *http.Client }

// newEngine speaks to the engine of the machine that it is called in.
func newEngine() engine {
	return engine{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", EngineSocket)
		},
		DisableKeepAlives: true,
	}}}
}

func (e engine) call(ctx context.Context, method, path string, to any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("the engine answers %s", res.Status)
	}
	if to == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(res.Body, 16<<20)).Decode(to)
}

// answers returns nil once the engine answers, or ctx's error.
func (e engine) answers(ctx context.Context) error {
	const every = 25 * time.Millisecond
	for {
		once, cancel := context.WithTimeout(ctx, time.Second)
		err := e.call(once, http.MethodGet, "/_ping", nil)
		cancel()
		if err == nil {
			return nil
		}
		if !rest(ctx, every) {
			return ctx.Err()
		}
	}
}

// stopAll asks all containers to end, each within the grace.
func (e engine) stopAll(ctx context.Context, grace time.Duration) {
	var running []struct{ ID string }
	if e.call(ctx, http.MethodGet, "/containers/json", &running) != nil {
		return // what still runs ends with the machine
	}
	query := url.Values{"t": {strconv.Itoa(int(grace.Seconds()))}}.Encode()
	const atOnce = 8
	turn := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, c := range running {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			_ = e.call(ctx, http.MethodPost, "/containers/"+url.PathEscape(c.ID)+"/stop?"+query, nil)
		})
	}
	wg.Wait()
}

// rest waits, and reports false when ctx ended first.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
