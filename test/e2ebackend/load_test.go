package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

// load asks by names all the time, and counts what did not come.
type load struct {
	web    string
	end    context.CancelFunc
	wg     sync.WaitGroup
	asked  atomic.Int64
	mu     sync.Mutex
	failed []string
	client *http.Client
}

// every is between two requests of one name.
const every = 4 * time.Millisecond

func (l *load) begin(ctx context.Context, hosts ...string) {
	for _, host := range hosts {
		l.wg.Go(func() {
			for pause(ctx, every) {
				if err := l.ask(host); err != nil {
					l.mu.Lock()
					l.failed = append(l.failed, fmt.Sprintf("%s: %s: %v", time.Now().Format(time.StampMilli), host, err))
					l.mu.Unlock()
				}
				l.asked.Add(1)
			}
		})
	}
}

// ask lets no request be cut by the end of the run.
func (l *load) ask(host string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.web+"/", http.NoBody)
	if err != nil {
		return err
	}
	req.Host = host
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func (l *load) stop() {
	l.end()
	l.wg.Wait()
	l.client.CloseIdleConnections()
}

// A lease is asked by its names while its domain changes, its containers are replaced
// and its backend is killed: no request fails, and a domain replaces nothing.
func TestNoRequestFailsWhileDomainsAndContainersChange(t *testing.T) {
	t.Parallel()
	o := defaults()
	o.docker, o.out = "unix://"+testimage.Socket(t), t.Output()
	o.pool = "10.227.0.0/16"
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := erect(ctx, o)
	if s != nil {
		defer s.tearDown(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &life{stand: s, shape: shapes()[1], lease: uuid.NewString(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	r := &result{}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v\n%s", what, err, s.daemon.tail())
		}
	}
	kill := func() {
		t.Helper()
		must("kill", s.daemon.kill())
		must("start", s.daemon.begin(ctx))
	}
	must("provision", l.do(ctx, r, l.provision()))
	must("the first domain", l.domains(ctx, r, "one.test"))
	before, err := l.containers(ctx)
	must("containers", err)

	asking, end := context.WithCancel(ctx)
	names := &load{web: s.web, end: end, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}}
	defer names.stop()
	names.begin(asking, l.names...)
	for i := range 4 { // the names of its own stay as they are meanwhile
		must("another domain", l.domains(ctx, r, fmt.Sprintf("other%d.test", i)))
		if i%2 == 0 {
			kill()
		}
	}
	now, err := l.containers(ctx)
	must("containers", err)
	if !slices.Equal(now, before) {
		t.Errorf("the containers were %v, and are %v", before, now)
	}
	names.begin(asking, l.domain)
	must("update", l.do(ctx, r, l.update("v2")))
	kill()
	must("restart", l.do(ctx, r, l.restart()))
	must("an update that fails", l.do(ctx, r, l.update("broken")))
	names.stop()
	t.Logf("%d requests, %d failed", names.asked.Load(), len(names.failed))
	for _, f := range names.failed[:min(len(names.failed), 10)] {
		t.Error(f)
	}
	if names.asked.Load() < 100 {
		t.Errorf("only %d requests were made", names.asked.Load())
	}
	must("deprovision", l.do(ctx, r, l.deprovision()))
}
