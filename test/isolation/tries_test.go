package isolation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/node/nodetest"
	"github.com/berth-cloud/berth/test/leaseholder"
)

const (
	leaseA = "018f3c1e-7b2a-7c4d-9e5f-00000000000a"
	leaseB = "018f3c1e-7b2a-7c4d-9e5f-00000000000b"
	tier   = "018f3c1e-7b2a-7c4d-9e5f-0000000000aa"
	secret = "0123456789abcdef0123456789abcdef"
)

// stand is a host in a namespace: an engine, a backend, two leases, an app.
type stand struct {
	t         *testing.T
	dir       string
	host      *nodetest.Space
	around    map[string]*nodetest.Space
	dockerd   *dockerd
	engine    *engine.Client
	holder    *leaseholder.Holder
	address   string
	stop      func()
	a, a2, b  netip.Addr
	app       netip.Addr
	published int // a port of lease B on all addresses of the host
}

func tries(t *testing.T, dir string) {
	s := &stand{t: t, dir: t.TempDir(), host: nodetest.Own(t)}
	s.host.IP(t, "link set lo up")
	for _, set := range []string{"ipv6/conf/all/forwarding=1", "ipv4/conf/all/rp_filter=0", "ipv4/conf/default/rp_filter=0"} {
		s.host.Sysctl(t, set)
	}
	s.around = nodetest.Surround(t, s.host, fmt.Sprintf("iso%d-", os.Getpid()))
	s.host.Listen(t, "host")
	s.dockerd = startDockerd(t, dir)
	var err error
	s.engine, err = engine.New(engine.Options{Host: "unix://" + s.dockerd.socket})
	s.ok(err)
	t.Cleanup(func() { _ = s.engine.Close() })
	image := testimage.Build(t, s.dockerd.socket, "probe")
	s.settle()
	s.backend()
	t.Cleanup(s.clear)
	s.provision(leaseA, "acme", image, 2)
	s.provision(leaseB, "other", image, 1)
	s.find(image)

	s.all("as they were provisioned")
	s.names("as they were provisioned")
	s.dockerd.stop()
	s.all("while the engine is away")
	s.dockerd.start()
	s.all("after the engine was restarted")
	s.names("after the engine was restarted")
	s.stop()
	s.all("while no backend runs")
	s.flush()
	s.backend()
	s.dockerd.stop()
	s.dockerd.start() // so that its own rules are there again
	s.all("after all rules were flushed, and backend and engine restarted")
	s.flushAndWait()
	s.dockerd.stop()
	s.dockerd.start()
	s.all("after all rules were flushed under a backend that runs")
	s.stop()
	s.without()
}

// without shows that what was refused was refused by the firewall.
func (s *stand) without() {
	file := filepath.Join(s.dir, "backend.yaml")
	text, err := os.ReadFile(file)
	s.ok(err)
	s.ok(os.WriteFile(file, bytes.Replace(text, []byte("isolation: {"), []byte("isolation: {firewall: off, "), 1), 0o600))
	s.backend()
	open := 0
	for _, w := range s.ways() {
		if _, err := s.ask(w); err == nil && !w.open {
			open++
		}
	}
	// The engine itself keeps its networks apart, and containers without IPv6 have none.
	const least = 10
	if open < least {
		s.t.Errorf("without a firewall only %d of what it refuses can be reached, not %d: nothing can be said of it", open, least)
	}
}

func (s *stand) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// settle writes the settings.
func (s *stand) settle() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.ok(err)
	s.address = l.Addr().String()
	s.ok(l.Close())
	s.ok(os.WriteFile(filepath.Join(s.dir, "s.secret"), []byte(secret), 0o600))
	s.ok(os.WriteFile(filepath.Join(s.dir, "backend.yaml"), fmt.Appendf(nil, `name: iso
listen: %s
secret_file: s.secret
docker: unix://%s
bind_address: 0.0.0.0
sku_profiles: {micro: {cpu_cores: 0.25, memory_mb: 64}}
sku_mapping: {%s: micro}
total_cpu_cores: 10
total_memory_mb: 1000
allowed_registries: [docker.io]
egress: {allow_loopback: true}
isolation: {allow_private: [172.16.9.0/24], resolvers: [192.168.77.9]}
`, s.address, s.dockerd.socket, tier), 0o600))
	s.holder, err = leaseholder.Start(s.t.Context(), leaseholder.Config{BackendURL: "http://" + s.address, Secret: secret, Callback: secret})
	s.ok(err)
	s.t.Cleanup(func() { _ = s.holder.Close() })
}

func (s *stand) backend() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended, serving := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- backendd.Run(ctx, backendd.Options{
			ConfigFile: filepath.Join(s.dir, "backend.yaml"), DataDir: filepath.Join(s.dir, "data"), Version: "test",
			Serving: func(net.Addr) { close(serving) },
		}, slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	}()
	select {
	case <-serving:
	case err := <-ended:
		cancel()
		s.t.Fatalf("the backend ended: %v", err)
	}
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			s.ok(<-ended)
		}
	}
}

func (s *stand) provision(lease, tenant, image string, quantity int) {
	s.t.Helper()
	payload, err := json.Marshal(map[string]any{"image": image, "args": []string{"dialler:8080", "wait"}, "ports": map[string]any{"8080/tcp": map[string]any{}}, "stop_grace_period": "1s"})
	s.ok(err)
	s.ok(s.holder.Provision(s.t.Context(), backend.ProvisionRequest{
		LeaseUUID: lease, Tenant: tenant, ProviderUUID: "018f3c1e-7b2a-7c4d-9e5f-0000000000ee", CallbackURL: s.holder.CallbackURL(),
		Items: []backend.LeaseItem{{SKU: tier, Quantity: quantity}}, Payload: payload,
	}))
	ctx, cancel := context.WithTimeout(s.t.Context(), startTime)
	defer cancel()
	p, err := s.holder.Await(ctx, lease, 1)
	s.ok(err)
	if p.Status != backend.CallbackStatusSuccess {
		s.t.Fatalf("%s: %+v", lease, p)
	}
}

// find learns where everything is, and starts an app beside the leases.
func (s *stand) find(image string) {
	ctx := s.t.Context()
	subnet := netip.MustParsePrefix("10.210.9.0/24")
	network, err := s.engine.CreateNetwork(ctx, docker.NetworkSpec{Name: "iso-app", Subnet: subnet})
	s.ok(err)
	s.app = netip.MustParseAddr("10.210.9.2")
	app, err := s.engine.Create(ctx, docker.ContainerSpec{
		Name: "iso-app", Image: image, Command: []string{"dialler:8080", "wait"}, Network: docker.NetworkAttachment{Network: network, Address: s.app},
	})
	s.ok(err)
	s.ok(s.engine.Start(ctx, app))
	all, err := s.engine.ListNetworks(ctx, nil)
	s.ok(err)
	addresses := map[string]netip.Addr{}
	for _, n := range all {
		for _, m := range n.Attached {
			addresses[m.ContainerID] = m.Address
		}
	}
	of := func(lease string) []backend.LeaseInstance {
		info, err := s.holder.GetInfo(ctx, lease)
		s.ok(err)
		return info.Instances
	}
	two, one := of(leaseA), of(leaseB)
	s.a, s.a2, s.b = addresses[two[0].ContainerID], addresses[two[1].ContainerID], addresses[one[0].ContainerID]
	if !s.a.IsValid() || !s.a2.IsValid() || !s.b.IsValid() {
		s.t.Fatalf("the containers of the leases are not found: %+v", all)
	}
	// Named so that the firewall knew it before it was there.
	links, err := net.Interfaces()
	s.ok(err)
	if !slices.ContainsFunc(links, func(l net.Interface) bool {
		return strings.HasPrefix(l.Name, "bl") && strings.HasSuffix(l.Name, "-0ad600")
	}) {
		s.t.Errorf("no bridge has the name of a lease's: %v", links)
	}
	for _, one := range one {
		for _, p := range one.Ports {
			_, err := fmt.Sscan(fmt.Sprint(p.HostPort), &s.published)
			s.ok(err)
		}
	}
	if s.published == 0 {
		s.t.Fatalf("no port is published: %+v", one)
	}
}

// clear ends the leases, so that nothing outlives the engine.
func (s *stand) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	s.stop()
	all, err := s.engine.List(ctx, nil)
	if err != nil {
		s.t.Errorf("list what is left: %v", err)
	}
	for i := range all {
		if err := errors.Join(s.engine.Stop(ctx, all[i].ID, time.Second), s.engine.Remove(ctx, all[i].ID)); err != nil {
			s.t.Errorf("remove %s: %v", all[i].Name, err)
		}
	}
}

// way is one dial and whether it is to arrive.
type way struct {
	what    string
	from    netip.Addr
	network string
	to      string
	open    bool
}

func (s *stand) ways() []way {
	at := func(a netip.Addr, port int) string { return netip.AddrPortFrom(a, uint16(port)).String() }
	gateway := func(a netip.Addr) netip.Addr { return netip.PrefixFrom(a, 24).Masked().Addr().Next() }
	return []way{
		{"the lease's other container", s.a, "tcp", at(s.a2, 8080), true},
		{"another lease", s.a, "tcp", at(s.b, 8080), false},
		{"the other way round", s.b, "tcp", at(s.a, 8080), false},
		{"an app", s.a, "tcp", at(s.app, 8080), false},
		{"a lease, from an app", s.app, "tcp", at(s.a, 8080), false},
		{"the host by its own bridge", s.a, "tcp", at(gateway(s.a), 7000), false},
		{"the host by UDP", s.a, "udp", at(gateway(s.a), 7000), false},
		{"the data plane by its own bridge", s.a, "tcp", at(gateway(s.a), 80), true},
		{"the host by another bridge", s.a, "tcp", at(gateway(s.b), 7000), false},
		{"the host by its address on the LAN", s.a, "tcp", "192.168.77.1:7000", false},
		{"the host by its public address", s.a, "tcp", "203.0.113.1:7000", false},
		{"the data plane by the public address", s.a, "tcp", "203.0.113.1:443", true},
		{"a published port of another lease", s.a, "tcp", fmt.Sprintf("203.0.113.1:%d", s.published), false},
		{"the metadata service", s.a, "tcp", "169.254.169.254:80", false},
		{"a neighbour on the LAN", s.a, "tcp", "192.168.77.9:7000", false},
		{"the resolver", s.a, "tcp", "192.168.77.9:53", true},
		{"the resolver by UDP", s.a, "udp", "192.168.77.9:53", true},
		{"10/8", s.a, "tcp", "10.99.9.9:7000", false},
		{"172.16/12", s.a, "tcp", "172.17.9.9:7000", false},
		{"100.64/10", s.a, "tcp", "100.64.9.9:7000", false},
		{"what is allowed", s.a, "tcp", "172.16.9.9:7000", true},
		{"the Internet", s.a, "tcp", "198.51.100.7:7000", true},
		{"the metadata service, IPv6", s.a, "tcp", "[fd00:ec2::254]:80", false},
		{"the host, IPv6", s.a, "tcp", "[2001:db8:113::1]:7000", false},
		{"the host's link-local address", s.a, "tcp", "[fe80::1%eth0]:7000", false},
		{"all routers by multicast", s.a, "udp", "224.0.0.2:7000", false},
		{"everybody by broadcast", s.a, "udp", "255.255.255.255:7000", false},
	}
}

// all makes every dial, from inside and from outside.
func (s *stand) all(when string) {
	s.t.Helper()
	for _, w := range s.ways() {
		said, err := s.ask(w)
		if (err == nil) != w.open {
			s.t.Errorf("%s: %s (%s to %s %s): it is to arrive: %t; %q, %v", when, w.what, w.from, w.network, w.to, w.open, said, err)
		}
	}
	lan := s.around["lan"]
	if who, err := lan.Dial("tcp", netip.AddrPortFrom(s.a, 8080).String()); err == nil {
		s.t.Errorf("%s: from the LAN straight to a lease: %q", when, who)
	}
	if c, err := s.connect(lan, fmt.Sprintf("192.168.77.1:%d", s.published)); err != nil {
		s.t.Errorf("%s: from the LAN to a published port: %v", when, err)
	} else {
		_ = c.Close()
	}
}

// names has a container ask the engine's resolver, which goes with the engine.
func (s *stand) names(when string) {
	s.t.Helper()
	if _, err := s.ask(way{from: s.a, network: "tcp", to: "app:8080"}); err != nil {
		s.t.Errorf("%s: a container of the same lease by name: %v", when, err)
	}
}

// connect is a dial that nobody answers before it is asked something.
func (s *stand) connect(from *nodetest.Space, to string) (c net.Conn, err error) {
	fault := from.Do(func() { c, err = net.DialTimeout("tcp", to, 2*time.Second) })
	s.ok(fault)
	return c, err
}

// ask has a container dial. The question itself comes from the host, as probes do.
func (s *stand) ask(w way) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Second)
	defer cancel()
	u := url.URL{Scheme: "http", Host: netip.AddrPortFrom(w.from, 8080).String(), RawQuery: url.Values{"network": {w.network}, "to": {w.to}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	s.ok(err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	for errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil { // it has only just been started
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
		resp, err = client.Do(req)
	}
	if err != nil {
		s.t.Fatalf("the container at %s does not answer its host: %v", w.from, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	s.ok(err)
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s", strings.TrimSpace(string(body)))
	}
	return string(body), nil
}

// flush deletes every rule of everybody in the namespace.
func (s *stand) flush() {
	c, err := nftables.New()
	s.ok(err)
	c.FlushRuleset()
	s.ok(c.Flush())
}

// flushAndWait flushes and gives the backend time to notice by itself.
func (s *stand) flushAndWait() {
	s.flush()
	c, err := nftables.New()
	s.ok(err)
	s.dockerd.until("the firewall is back", func() bool {
		tables, err := c.ListTablesOfFamily(nftables.TableFamilyINet)
		s.ok(err)
		for _, table := range tables {
			if strings.HasPrefix(table.Name, "berth-") {
				return true
			}
		}
		return false
	})
}
