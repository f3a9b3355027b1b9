package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	// known is how long an address that was found to be an app's is believed to be. One
	// that is freed rests for minutes before another container gets it.
	known = 2 * time.Second
	// maxListing bounds an answer of the engine, in bytes.
	maxListing = 16 << 20
)

// apps are the addresses of the machine's containers that are Berth's.
type apps struct {
	http  *http.Client
	now   func() time.Time
	own   func() ([]netip.Addr, error) // the machine's
	turn  chan struct{}                // holds one: whoever has it may look at the rest
	asked time.Time
	at    map[netip.Addr]bool // nil: never listed
}

func newApps(socket string, now func() time.Time) *apps {
	return &apps{
		now: now, own: hostAddresses, turn: make(chan struct{}, 1),
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "unix", socket)
				},
				MaxIdleConns: 1, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
			},
		},
	}
}

func (a *apps) close() { a.http.CloseIdleConnections() }

// allow is nil when an address is that of a running container with Berth's label on a
// bridge, and not the machine's own. An engine that does not answer changes no address,
// so that what it said before holds until it is back. Errors: errRight, and why the
// engine cannot be asked.
func (a *apps) allow(ctx context.Context, addr netip.Addr) error {
	if never(addr) {
		return errRight
	}
	came := a.now()
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := a.now()
	fresh := a.at != nil && now.Sub(a.asked) < known && !now.Before(a.asked)
	// A list that was asked for after the dial came knows all that the dial may know.
	if !(fresh && (a.at[addr] || a.asked.After(came))) {
		found, err := a.list(ctx)
		switch {
		case err == nil:
			a.at, a.asked = found, now
		case a.at == nil || !a.at[addr]:
			return fmt.Errorf("ask the engine for the addresses of apps: %w", err)
		}
	}
	if !a.at[addr] {
		return errRight
	}
	return nil
}

func (a *apps) list(ctx context.Context) (map[netip.Addr]bool, error) {
	own, err := a.own()
	if err != nil {
		return nil, err
	}
	var networks []struct {
		ID     string `json:"Id"`
		Driver string
	}
	if err := a.get(ctx, "/networks", `{"driver":["bridge"]}`, &networks); err != nil {
		return nil, err
	}
	bridge := map[string]bool{}
	for _, n := range networks {
		if n.Driver == "bridge" {
			bridge[n.ID] = true
		}
	}
	var containers []struct {
		State           string
		Labels          map[string]string
		NetworkSettings struct {
			Networks map[string]struct{ NetworkID, IPAddress, GlobalIPv6Address string }
		}
	}
	filters := `{"label":["` + docker.LabelInstance + `"],"status":["running"]}`
	if err := a.get(ctx, "/containers/json", filters, &containers); err != nil {
		return nil, err
	}
	found := map[netip.Addr]bool{}
	for _, c := range containers {
		if _, ours := c.Labels[docker.LabelInstance]; !ours || c.State != "running" {
			continue
		}
		for _, n := range c.NetworkSettings.Networks {
			if !bridge[n.NetworkID] {
				continue
			}
			for _, text := range []string{n.IPAddress, n.GlobalIPv6Address} {
				if addr, err := netip.ParseAddr(text); err == nil {
					found[addr.Unmap()] = true
				}
			}
		}
	}
	for _, addr := range own {
		delete(found, addr)
	}
	return found, nil
}

// get asks the engine to list. The agent asks it for nothing else.
func (a *apps) get(ctx context.Context, path, filters string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path+"?filters="+url.QueryEscape(filters), http.NoBody)
	if err != nil {
		return err
	}
	res, err := a.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the engine answered %s", res.Status)
	}
	return json.NewDecoder(io.LimitReader(res.Body, maxListing)).Decode(into)
}

func hostAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the machine's addresses: %w", err)
	}
	var out []netip.Addr
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, addr.Unmap())
			}
		}
	}
	return out, nil
}
