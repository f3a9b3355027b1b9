package nodetest

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"
)

func reaches(b *bench) {
	b.lab.try(b.T, "without rules", false)
	b.firewall()
	b.lab.try(b.T, "with rules", true)
	// Where bridges ask the firewall about what they pass on themselves, and where not.
	const asks = "/proc/sys/net/bridge"
	if _, err := os.Stat(asks); errors.Is(err, fs.ErrNotExist) {
		b.Log("this kernel has no br_netfilter, so that only one of its two settings was tried")
		return
	}
	for _, on := range []string{"0", "1"} {
		for _, family := range []string{"iptables", "ip6tables"} {
			b.lab.host.Sysctl(b, "bridge/bridge-nf-call-"+family+"="+on)
		}
		b.lab.try(b.T, "with bridge-nf-call="+on, true)
	}
}

// falseSource has a container take the address of somebody else.
func falseSource(b *bench) {
	a := b.lab.spaces["a1"]
	sources := []struct{ what, local, to string }{
		{"another lease's", "10.214.2.77", "203.0.113.9:7000"},
		{"one of the pool that nobody has", "10.214.9.9", "203.0.113.9:7000"},
		{"somebody's on the Internet", "198.51.100.99", "203.0.113.9:7000"},
		{"another lease's", "fd21:4:2::77", "[2001:db8:113::9]:7000"},
		{"another lease's, to the data plane", "10.214.2.77", "10.214.1.1:80"},
		{"another lease's, to the data plane", "fd21:4:2::77", "[fd21:4:1::1]:80"},
	}
	for _, s := range sources {
		bits := "/32 dev eth0"
		if netip.MustParseAddr(s.local).Is6() {
			bits = "/128 dev eth0 nodad"
		}
		a.IP(b, "address replace "+s.local+bits)
	}
	// The way back, so that without rules an answer comes.
	ways := []string{"10.214.2.77/32", "10.214.9.9/32", "198.51.100.99/32", "fd21:4:2::77/128"}
	for _, to := range ways {
		b.lab.host.IP(b, "route add "+to+" dev "+Bridges+"a")
	}
	for _, s := range sources {
		if _, err := a.dial("tcp", s.to, s.local); err != nil {
			b.Fatalf("without rules, from %s: %v", s.local, err)
		}
	}
	for _, to := range ways {
		b.lab.host.IP(b, "route delete "+to)
	}
	heard := b.listen("inet", "203.0.113.9:7001")
	b.firewall()
	for _, s := range sources {
		if who, err := a.dial("tcp", s.to, s.local); err == nil {
			b.Errorf("from %s, %s: %s answered", s.local, s.what, who)
		}
	}
	// One that needs no answer does not arrive either.
	if _, err := a.dialUDP("198.51.100.99", "203.0.113.9:7001", "false"); err != nil {
		b.Fatal(err)
	}
	if _, err := a.dialUDP("10.214.1.2", "203.0.113.9:7001", "true"); err != nil {
		b.Fatal(err)
	}
	select {
	case got := <-heard:
		if got != "true" {
			b.Errorf("a packet arrived from a false source: %q", got)
		}
	case <-time.After(10 * time.Second):
		b.Error("a packet from the true source did not arrive")
	}
}

// listen tells what arrives by UDP.
func (b *bench) listen(where, address string) <-chan string {
	b.Helper()
	heard := make(chan string, 16)
	var (
		p   net.PacketConn
		err error
	)
	var listener net.ListenConfig
	b.ok(b.lab.spaces[where].Do(func() { p, err = listener.ListenPacket(b.Context(), "udp", address) }))
	b.ok(err)
	b.Cleanup(func() { _ = p.Close() })
	go func() {
		buf := make([]byte, 64)
		for {
			n, _, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			select {
			case heard <- string(buf[:n]):
			default:
			}
		}
	}()
	return heard
}

func (s *Space) dialUDP(local, to, text string) (n int, err error) {
	fault := s.Do(func() {
		var c net.Conn
		c, err = (&net.Dialer{Timeout: dialTimeout, LocalAddr: &net.UDPAddr{IP: net.ParseIP(local)}}).Dial("udp", to)
		if err == nil {
			n, err = c.Write([]byte(text))
			_ = c.Close()
		}
	})
	return n, errors.Join(fault, err)
}

func allowedIsNoLease(b *bench) {
	for _, p := range []string{"0.0.0.0/0", "::/0"} {
		b.rules.Allow = append(b.rules.Allow, netip.MustParsePrefix(p))
	}
	b.firewall()
	for _, w := range []way{
		tcp("10/8", "a1", "10.99.9.9:7000", "lan", true),
		tcp("the LAN", "a1", "192.168.77.9:7000", "lan", true),
		tcp("fc00::/7", "a1", "[fd21:98::9]:7000", "lan", true),
		tcp("another lease", "a1", "10.214.2.2:7000", "b1", false),
		tcp("a lease on a bridge that the engine named", "a1", "10.214.3.2:7000", "c1", false),
		tcp("an app", "a1", "10.210.1.2:7000", "app", false),
		tcp("the host", "a1", "192.168.77.1:7000", "host", false),
		tcp("the metadata service", "a1", "169.254.169.254:80", "lan", false),
		tcp("another lease", "a1", "[fd21:4:2::2]:7000", "b1", false),
		tcp("an app", "a1", "[fd21:10:1::2]:7000", "app", false),
		tcp("the metadata service", "a1", "[fd00:ec2::254]:80", "lan", false),
	} {
		if said := b.lab.check(w, w.open); said != "" {
			b.Errorf("with everything allowed: %s", said)
		}
	}
}

// outlived has a connection made while there are no rules.
func outlived(b *bench) {
	open := b.conversation("a1", "b1", "10.214.2.2:7005")
	answers := b.conversation("host", "a1", "10.214.1.2:7005")
	for name, c := range map[string]*conversation{"to another lease": open, "of the host": answers} {
		if err := c.exchange(); err != nil {
			b.Fatalf("a connection %s, without rules: %v", name, err)
		}
	}
	b.firewall()
	if open.exchange() == nil {
		b.Error("a connection to another lease goes on")
	}
	if err := answers.exchange(); err != nil {
		b.Errorf("a connection of the host to a lease is cut: %v", err)
	}
}

// conversation is a connection on which each word comes back.
type conversation struct{ net.Conn }

func (b *bench) conversation(from, to, address string) *conversation {
	b.Helper()
	var (
		l    net.Listener
		c    net.Conn
		err  error
		dial = net.Dialer{Timeout: dialTimeout}

		listener net.ListenConfig
	)
	b.ok(b.lab.spaces[to].Do(func() { l, err = listener.Listen(b.Context(), "tcp", address) }))
	b.ok(err)
	var answering sync.WaitGroup
	b.Cleanup(func() {
		_ = l.Close()
		answering.Wait()
	})
	answering.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(10 * dialTimeout)) // the other end may be cut off
		buf := make([]byte, 16)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			if _, err := conn.Write(buf[:n]); err != nil {
				return
			}
		}
	})
	b.ok(b.lab.spaces[from].Do(func() { c, err = dial.Dial("tcp", address) }))
	b.ok(err)
	b.Cleanup(func() { _ = c.Close() })
	return &conversation{c}
}

func (c *conversation) exchange() error {
	if err := c.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("word")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 16))
	return err
}

var _ testing.TB = (*bench)(nil)
