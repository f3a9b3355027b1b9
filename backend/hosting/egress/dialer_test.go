package egress

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// counted is a server on 127.0.0.1 that counts connections and requests.
type counted struct {
	*httptest.Server
	conns, requests atomic.Int64
}

func newCounted(t *testing.T, handler http.HandlerFunc) *counted {
	t.Helper()
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		if handler != nil {
			handler(w, r)
		}
	}))
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			c.conns.Add(1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// as is the server's URL with another host.
func (c *counted) as(t *testing.T, host string) string {
	t.Helper()
	u, err := url.Parse(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

func get(t *testing.T, c *http.Client, target string) (*http.Response, error) {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

func TestANameIsJudgedByWhatItResolvesTo(t *testing.T) {
	for name, c := range map[string]struct {
		policy  Policy
		answer  []string
		reached bool
	}{
		"loopback, allowed":                  {Policy{AllowLoopback: true}, []string{"127.0.0.1"}, true},
		"loopback":                           {Policy{}, []string{"127.0.0.1"}, false},
		"loopback, private allowed":          {Policy{AllowPrivate: true}, []string{"127.0.0.1"}, false},
		"metadata":                           {all, []string{"169.254.169.254"}, false},
		"private":                            {Policy{AllowLoopback: true}, []string{"10.0.0.1", "192.168.0.1"}, false},
		"unspecified, which is this machine": {all, []string{"0.0.0.0"}, false},
		"one of many is let through":         {Policy{AllowLoopback: true}, []string{"169.254.169.254", "10.0.0.1", "0.0.0.0", "127.0.0.1"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := newCounted(t, nil)
			names := &script{answers: [][]string{c.answer}}
			d := &Dialer{Policy: c.policy, Resolver: names.resolver(t)}
			_, err := get(t, newClient(d, 0, nil), server.as(t, "holder.test"))
			if c.reached && err != nil || !c.reached && !errors.Is(err, ErrRefused) {
				t.Errorf("error %v; reached must be %t", err, c.reached)
			}
			if got := server.conns.Load() > 0; got != c.reached {
				t.Errorf("the server was reached: %t; want %t", got, c.reached)
			}
		})
	}
}

func TestANameThatIsReboundIsJudgedAgain(t *testing.T) {
	server := newCounted(t, nil)
	names := &script{answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"10.0.0.1"}, {"127.0.0.1"}}}
	client := newClient(&Dialer{Policy: Policy{AllowLoopback: true}, Resolver: names.resolver(t)}, 0, nil)
	for i, reached := range []bool{true, false, false, true} {
		resp, err := get(t, client, server.as(t, "holder.test"))
		if reached && err != nil || !reached && !errors.Is(err, ErrRefused) {
			t.Errorf("request %d: %v; reached must be %t", i+1, err, reached)
		}
		if err == nil {
			resp.Body.Close()
		}
		client.CloseIdleConnections() // so that the next one looks the name up
	}
	if n := server.requests.Load(); n != 2 {
		t.Errorf("%d requests came; want 2", n)
	}
	if names.asked != 4 {
		t.Errorf("the name was looked up %d times for 4 connections", names.asked)
	}
}

func TestAddressesAreJudgedWithoutANameToo(t *testing.T) {
	server := newCounted(t, nil)
	address := server.Listener.Addr().String()
	for _, network := range []string{"tcp", "tcp4"} {
		if _, err := (&Dialer{}).DialContext(t.Context(), network, address); !errors.Is(err, ErrRefused) {
			t.Errorf("%s to loopback: %v", network, err)
		}
		conn, err := (&Dialer{Policy: Policy{AllowLoopback: true}}).DialContext(t.Context(), network, address)
		if err != nil {
			t.Fatalf("%s to loopback, allowed: %v", network, err)
		}
		conn.Close()
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("::ffff:127.0.0.1", port)); !errors.Is(err, ErrRefused) {
		t.Errorf("mapped loopback: %v", err)
	}
	// An empty host is this machine to a dialer.
	if _, err := (&Dialer{}).DialContext(t.Context(), "tcp", ":"+port); !errors.Is(err, ErrRefused) {
		t.Errorf("an empty host: %v", err)
	}
	for _, network := range []string{"udp", "unix", "ip4:icmp", ""} {
		if _, err := (&Dialer{Policy: all}).DialContext(t.Context(), network, address); !errors.Is(err, ErrRefused) {
			t.Errorf("network %q: %v", network, err)
		}
	}
}
