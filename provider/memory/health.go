package memory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// health is what probes found since a container started.
type health struct {
	probing  bool
	probedAt time.Time
	ready    bool
	was      bool // ready, ever
	since    time.Time
	failures int
	problem  string
	alive    int // failures of the liveness check in a row
}

// What the zero fields of a check mean here.
const (
	defaultInterval = 100 * time.Millisecond
	defaultTimeout  = time.Second
	defaultRetries  = 3
	// defaultWindow is how long a container without a port and a check must be up.
	defaultWindow = 200 * time.Millisecond
)

// probe looks whether a container is ready, when that is due. window is how long
// one must be up that has nothing to be probed.
func (c *Cluster) probe(ctx context.Context, o *container, window time.Duration) {
	c.mu.Lock()
	check, begun := o.check(), o.process
	due := o.state == running && !o.health.probing && (o.health.probedAt.IsZero() || !c.now().Before(o.health.probedAt.Add(interval(check, o.spec.Liveness))))
	if due {
		o.health.probing = true
	}
	c.mu.Unlock()
	if !due {
		return
	}
	problem, dead := c.examine(ctx, o, check, window)
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.process != begun || o.state != running {
		return
	}
	o.health.probing = false
	if ctx.Err() != nil {
		return // the probe was cut off and says nothing
	}
	o.health.probedAt = c.now()
	o.noteLocked(check, problem)
	o.health.alive++
	if !dead {
		o.health.alive = 0
	}
}

// examine runs both checks.
func (c *Cluster) examine(ctx context.Context, o *container, check *provider.HealthCheckSpec, window time.Duration) (problem string, dead bool) {
	if check == nil {
		if window <= 0 {
			window = defaultWindow
		}
		if up := c.now().Sub(o.look().startedAt); up < window {
			problem = fmt.Sprintf("it is up for %s of %s", up.Round(time.Millisecond), window)
		}
	} else if err := c.run(ctx, o, *check); err != nil {
		problem = err.Error()
	}
	if l := o.spec.Liveness; l != nil && !l.IsZero() {
		dead = c.run(ctx, o, *l) != nil
	}
	return problem, dead
}

// noteLocked takes a result in.
func (o *container) noteLocked(check *provider.HealthCheckSpec, problem string) {
	h := &o.health
	before := h.ready
	if problem == "" {
		if !h.ready {
			h.since = h.probedAt
		}
		h.ready, h.was, h.failures, h.problem = true, true, 0, ""
	} else {
		h.failures++
		h.problem = problem
		if !h.was || check == nil || h.failures >= retries(check) {
			h.ready = false
		}
	}
	if h.ready != before {
		o.cluster.signalLocked(o.instance)
	}
}

// check is what readiness means for a container: its check, else its first port,
// else nothing.
func (o *container) check() *provider.HealthCheckSpec {
	if h := o.spec.HealthCheck; h != nil && !h.IsZero() {
		return h
	}
	for _, port := range o.spec.Ports {
		if port.Transport() == provider.ProtocolTCP {
			return &provider.HealthCheckSpec{Port: port.Container}
		}
	}
	return nil
}

func interval(checks ...*provider.HealthCheckSpec) time.Duration {
	least := time.Duration(0)
	for _, c := range checks {
		if c != nil && c.Interval > 0 && (least == 0 || c.Interval < least) {
			least = c.Interval
		}
	}
	if least == 0 {
		return defaultInterval
	}
	return least
}

func retries(check *provider.HealthCheckSpec) int {
	if check == nil || check.Retries <= 0 {
		return defaultRetries
	}
	return check.Retries
}

// run makes one check.
func (c *Cluster) run(ctx context.Context, o *container, check provider.HealthCheckSpec) error {
	timeout := check.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if len(check.Exec) > 0 {
		res, err := c.exec(ctx, o, provider.ExecRequest{Command: check.Exec})
		if err == nil && res.ExitCode != 0 {
			err = fmt.Errorf("%q ended with %d", check.Exec, res.ExitCode)
		}
		return err
	}
	if check.Port == 0 {
		for _, port := range o.spec.Ports {
			if port.Transport() == provider.ProtocolTCP {
				check.Port = port.Container
				break
			}
		}
	}
	at := netip.AddrPortFrom(o.address, uint16(check.Port))
	if check.Path == "" {
		conn, err := c.connect(ctx, at)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	return c.get(ctx, at, check)
}

func (c *Cluster) get(ctx context.Context, at netip.AddrPort, check provider.HealthCheckSpec) error {
	url := "http://" + at.String() + check.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx, at) },
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	good := res.StatusCode >= 200 && res.StatusCode < 400
	if check.ExpectedStatus != 0 {
		good = res.StatusCode == check.ExpectedStatus
	}
	if !good {
		return errors.New("GET " + url + " answered " + strconv.Itoa(res.StatusCode))
	}
	return nil
}
