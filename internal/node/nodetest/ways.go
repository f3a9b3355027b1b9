package nodetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// way is one dial, and whether it is to arrive when the rules stand.
type way struct {
	what, from, network, to string
	open                    bool
	by                      string // who answers
}

func tcp(what, from, to, by string, open bool) way { return way{what, from, "tcp", to, open, by} }

func udp(what, from, to, by string, open bool) way { return way{what, from, "udp", to, open, by} }

// ways are all of them, of both families.
func ways() []way {
	return []way{
		tcp("a container of the same lease", "a1", "10.214.1.3:7000", "a2", true),
		udp("the same by UDP", "a1", "10.214.1.3:7000", "a2", true),
		tcp("another lease", "a1", "10.214.2.2:7000", "b1", false),
		tcp("another lease, at a port of the data plane", "a1", "10.214.2.2:80", "b1", false),
		udp("another lease by UDP", "a1", "10.214.2.2:7000", "b1", false),
		tcp("a lease on a bridge that the engine named", "a1", "10.214.3.2:7000", "c1", false),
		tcp("from there to another lease", "c1", "10.214.1.2:7000", "a1", false),
		tcp("from there to the host", "c1", "10.214.3.1:7000", "host", false),
		tcp("from there to the data plane", "c1", "10.214.3.1:443", "host", true),
		tcp("from there to the Internet", "c1", "198.51.100.7:7000", "inet", true),
		tcp("an app", "a1", "10.210.1.2:7000", "app", false),
		tcp("from an app to a lease", "app", "10.214.1.2:7000", "a1", false),
		tcp("the host by its own bridge", "a1", "10.214.1.1:7000", "host", false),
		udp("the host by UDP", "a1", "10.214.1.1:7000", "host", false),
		tcp("the data plane by its own bridge", "a1", "10.214.1.1:80", "host", true),
		tcp("the host by another lease's bridge", "a1", "10.214.2.1:7000", "host", false),
		tcp("the host by its address on the LAN", "a1", "192.168.77.1:7000", "host", false),
		tcp("the data plane by the address on the LAN", "a1", "192.168.77.1:80", "host", true),
		tcp("the host by its public address", "a1", "203.0.113.1:7000", "host", false),
		tcp("the data plane by the public address", "a1", "203.0.113.1:443", "host", true),
		tcp("the names of the host, which is no resolver", "a1", "10.214.1.1:53", "host", false),
		tcp("the metadata service", "a1", "169.254.169.254:80", "lan", false),
		tcp("a neighbour on the LAN", "a1", "192.168.77.9:7000", "lan", false),
		tcp("the resolver", "a1", "192.168.77.9:53", "lan", true),
		udp("the resolver by UDP", "a1", "192.168.77.9:53", "lan", true),
		tcp("names of somebody private else", "a1", "10.99.9.9:53", "lan", false),
		tcp("10/8", "a1", "10.99.9.9:7000", "lan", false),
		tcp("172.16/12", "a1", "172.17.9.9:7000", "lan", false),
		tcp("100.64/10", "a1", "100.64.9.9:7000", "lan", false),
		tcp("what is allowed", "a1", "172.16.9.9:7000", "lan", true),
		tcp("the Internet", "a1", "198.51.100.7:7000", "inet", true),
		udp("the Internet by UDP", "b1", "203.0.113.9:7000", "inet", true),
		tcp("a probe of the host", "host", "10.214.1.2:7000", "a1", true),
		tcp("from the LAN straight to a lease", "lan", "10.214.1.2:7000", "a1", false),
		tcp("from the Internet straight to a lease", "inet", "10.214.1.2:7000", "a1", false),
		tcp("from there straight to one on a bridge that the engine named", "inet", "10.214.3.2:7000", "c1", false),
		tcp("from the LAN to a published port", "lan", "192.168.77.1:18080", "a1", true),
		tcp("from the Internet to a published port", "inet", "203.0.113.1:18080", "a1", true),
		tcp("a published port of another lease", "a1", "203.0.113.1:18081", "b1", false),
		tcp("a published port of an app", "a1", "203.0.113.1:18082", "app", false),

		tcp("a container of the same lease", "a1", "[fd21:4:1::3]:7000", "a2", true),
		tcp("the same by its link-local address", "a1", "[fe80::3%eth0]:7000", "a2", true),
		tcp("another lease", "a1", "[fd21:4:2::2]:7000", "b1", false),
		udp("another lease by UDP", "a1", "[fd21:4:2::2]:7000", "b1", false),
		tcp("a lease on a bridge that the engine named", "a1", "[fd21:4:3::2]:7000", "c1", false),
		tcp("from there to another lease", "c1", "[fd21:4:1::2]:7000", "a1", false),
		tcp("from there to the host", "c1", "[fd21:4:3::1]:7000", "host", false),
		tcp("an app", "a1", "[fd21:10:1::2]:7000", "app", false),
		tcp("from an app to a lease", "app", "[fd21:4:1::2]:7000", "a1", false),
		tcp("the host by its own bridge", "a1", "[fd21:4:1::1]:7000", "host", false),
		tcp("the data plane by its own bridge", "a1", "[fd21:4:1::1]:443", "host", true),
		tcp("the host by its link-local address", "a1", "[fe80::1%eth0]:7000", "host", false),
		tcp("the data plane by the link-local address", "a1", "[fe80::1%eth0]:80", "host", false),
		tcp("the host by its address on the LAN", "a1", "[fd21:77::1]:7000", "host", false),
		tcp("the host by its public address", "a1", "[2001:db8:113::1]:7000", "host", false),
		tcp("the data plane by the public address", "a1", "[2001:db8:113::1]:80", "host", true),
		tcp("the metadata service", "a1", "[fd00:ec2::254]:80", "lan", false),
		tcp("a neighbour on the LAN", "a1", "[fd21:77::9]:7000", "lan", false),
		tcp("the resolver", "a1", "[fd21:77::9]:53", "lan", true),
		udp("the resolver by UDP", "a1", "[fd21:77::9]:53", "lan", true),
		tcp("fc00::/7", "a1", "[fd21:98::9]:7000", "lan", false),
		tcp("what is allowed", "a1", "[fd21:99::9]:7000", "lan", true),
		tcp("the Internet", "a1", "[2001:db8:7::7]:7000", "inet", true),
		tcp("a probe of the host", "host", "[fd21:4:1::2]:7000", "a1", true),
		tcp("from the LAN straight to a lease", "lan", "[fd21:4:1::2]:7000", "a1", false),
		tcp("from the Internet straight to a lease", "inet", "[fd21:4:1::2]:7000", "a1", false),
		tcp("from the LAN to a published port", "lan", "[fd21:77::1]:18080", "a1", true),
		tcp("from the Internet to a published port", "inet", "[2001:db8:113::1]:18080", "a1", true),
		tcp("a published port of another lease", "a1", "[2001:db8:113::1]:18081", "b1", false),
	}
}

// atOnce bounds how many dials are under way.
const atOnce = 8

// try makes every dial. Without rules all are to arrive, or nothing could be said of those
// that the rules refuse.
func (l *lab) try(t *testing.T, when string, ruled bool) {
	t.Helper()
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, w := range ways() {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if said := l.check(w, w.open || !ruled); said != "" {
				t.Errorf("%s: %s", when, said)
			}
		})
	}
	wg.Wait()
}

func (l *lab) check(w way, open bool) string {
	who, err := l.spaces[w.from].dial(w.network, w.to, "")
	name := fmt.Sprintf("%s (%s to %s %s)", w.what, w.from, w.network, w.to)
	switch {
	case open && err != nil:
		return name + ": it is to arrive: " + err.Error()
	case open && who != w.by:
		return name + ": " + who + " answered, not " + w.by
	case !open && err == nil:
		return name + ": it is to be refused, and " + who + " answered"
	case !open && w.network == "tcp" && errors.Is(err, errConnected):
		return name + ": it was connected: " + err.Error()
	}
	return ""
}
