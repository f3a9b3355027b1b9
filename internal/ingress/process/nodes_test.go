package process

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
	"github.com/berth-cloud/berth/internal/ingress/control"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// The agents of these tests take the data plane for a server, whom they let dial loopback:
// there is no container here. What an ingress may dial is the agent's to test.
const asServer = wire.RoleServer

func withNodes(o *Options) {
	o.nodes.Role = asServer
	o.nodes.Timing = hub.Timing{Heartbeat: time.Second}
	o.nodes.Relisten = 10 * time.Millisecond
}

// fleet are the nodes of a test's cluster.
type fleet struct {
	*testing.T
	ca      *wiretest.CA
	version int64
	denied  []string
}

func newFleet(t *testing.T) *fleet { return &fleet{T: t, ca: wiretest.NewCA(t)} }

// cluster is a newer one each time, with another certificate.
func (f *fleet) cluster(listen string) table.Cluster {
	f.Helper()
	f.version++
	cert := f.ca.Server(f, asServer)
	return table.Cluster{
		Protocol: table.Protocol, Version: f.version, Listen: listen, Roots: string(f.ca.PEM()),
		Certificate: string(wiretest.CertPEM(cert)), Key: table.NewPrivateKey(keyPEM(f, cert)), Denied: f.denied,
	}
}

func keyPEM(t testing.TB, cert tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey.(ed25519.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// push has a data plane take agents, and returns where.
func (f *fleet) push(in *instance, listen string) string {
	f.Helper()
	ack, err := in.client.PushCluster(f.Context(), f.cluster(listen))
	if err != nil {
		f.Fatal(err)
	}
	return ack.Address
}

// agent runs one that connects to the data plane, and returns its certificate.
func (f *fleet) agent(node, address string) *x509.Certificate {
	f.Helper()
	cert := f.ca.Agent(f, node)
	wiretest.RunAgent(f, agent.Config{
		Dir:    wiretest.Folder(f, f.ca, wiretest.Machine{Instance: node, Agent: address, Cert: &cert}),
		BootID: "boot-1", Version: "test",
		Timing: agent.Timing{RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond, RetrySlow: 200 * time.Millisecond},
	})
	return cert.Leaf
}

// node runs an agent, and waits until the data plane has it.
func (f *fleet) node(in *instance, node, address string) *x509.Certificate {
	f.Helper()
	leaf := f.agent(node, address)
	until(f.T, node+" is connected", func() bool { return in.has(f.T, node) })
	return leaf
}

func (in *instance) cluster(t *testing.T) *table.ClusterReport {
	var c *table.ClusterReport
	_ = in.client.Reports(t.Context(), func(r table.Report) error {
		c = r.Cluster
		return io.EOF
	})
	return c
}

func (in *instance) has(t *testing.T, node string) bool {
	c := in.cluster(t)
	if c == nil {
		return false
	}
	for _, n := range c.Nodes {
		if n.ID == node {
			return true
		}
	}
	return false
}

func nodeRoute(version int64, hold time.Duration, targets ...table.Target) table.Table {
	t := oneRoute(version, "boot-1", "192.0.2.1:80")
	t.Routes[0].HoldTimeout, t.Routes[0].Targets = hold, targets
	return t
}

func on(node, address string) table.Target {
	return table.Target{ID: "c-" + node + "-" + address, Address: address, Node: node}
}

func (in *instance) push(t *testing.T, tb table.Table) {
	t.Helper()
	if _, err := in.client.Push(t.Context(), tb); err != nil {
		t.Fatal(err)
	}
}

func TestTargetsOnNodesAreServedThroughTheirAgents(t *testing.T) {
	f := newFleet(t)
	in := startWith(t, t.TempDir(), "boot-1", withNodes)
	if c := in.cluster(t); c != nil {
		t.Errorf("before the push it reports %+v", c)
	}
	at := f.push(in, "127.0.0.1:0")
	f.node(in, "one", at)
	f.node(in, "two", at)
	in.push(t, nodeRoute(1, 0, on("one", backend(t, "one")), on("two", backend(t, "two"))))
	got := map[string]int{}
	for range 10 {
		status, body := in.get(t, "shop.test")
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, body)
		}
		got[body]++
	}
	if got["one"] != 5 || got["two"] != 5 {
		t.Errorf("answers %v", got)
	}
	c := in.cluster(t)
	if c.Version != 1 || c.Address != at || c.Error != "" || len(c.Nodes) != 2 || c.Nodes[0].ID != "one" || c.Nodes[0].Since.IsZero() {
		t.Errorf("the report says %+v", c)
	}
}

func TestADataPlaneThatStartsAgainAloneHasItsNodesBack(t *testing.T) {
	f, dir := newFleet(t), t.TempDir()
	first := startWith(t, dir, "boot-1", withNodes)
	at := f.push(first, "127.0.0.1:0")
	f.push(first, at) // the address that it has
	f.node(first, "one", at)
	first.push(t, nodeRoute(1, patience, on("one", backend(t, "one"))))
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "tables", "cluster.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is in a file of mode %v, %v", info.Mode(), err)
	}
	second := startWith(t, dir, "boot-1", withNodes)
	if status, body := second.get(t, "shop.test"); status != http.StatusOK || body != "one" {
		t.Errorf("got %d %q", status, body)
	}
	old := f.cluster(at)
	old.Version = 1
	if _, err := second.client.PushCluster(t.Context(), old); !errors.Is(err, table.ErrOldVersion) {
		t.Errorf("an older cluster: %v", err)
	}
}

// load are clients that ask as fast as they can, some of them with a connection for each
// request, and any failure of which is the test's.
type load struct {
	*testing.T
	url  string
	sent atomic.Int64
	stop chan struct{}
	wg   sync.WaitGroup
}

func newLoad(t *testing.T, url string, post bool) *load {
	l := &load{T: t, url: url, stop: make(chan struct{})}
	single := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i, c := range []*http.Client{http.DefaultClient, http.DefaultClient, single} {
		l.wg.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				if err := l.one(c, post && i == 1); err != nil {
					t.Error(err)
					return
				}
				l.sent.Add(1)
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) one(c *http.Client, post bool) error {
	method, body := http.MethodGet, io.Reader(nil)
	if post {
		method, body = http.MethodPost, strings.NewReader("body")
	}
	req, err := http.NewRequestWithContext(l.Context(), method, l.url+"/", body)
	if err != nil {
		return err
	}
	req.Host = "shop.test"
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if got, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d, %.200q, %w", res.StatusCode, got, err)
	}
	return nil
}

// more waits for n more answers.
func (l *load) more(n int64) {
	l.Helper()
	before := l.sent.Load()
	until(l.T, "load goes on", func() bool { return l.Failed() || l.sent.Load() > before+n })
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.wg.Wait()
}

func TestATakeoverFailsNoRequestThroughANode(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	b := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(entered)
			<-leave
		}
		_, _ = io.WriteString(w, "well")
	}))
	t.Cleanup(b.Close)
	f, dir := newFleet(t), t.TempDir()
	first := startWith(t, dir, "boot-1", withNodes)
	at := f.push(first, "127.0.0.1:0")
	f.node(first, "one", at)
	// Nothing is held: a dial that fails is a failed request.
	first.push(t, nodeRoute(1, 0, on("one", strings.TrimPrefix(b.URL, "http://"))))
	slow := make(chan string, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, first.url+"/slow", nil)
		req.Host = "shop.test"
		res, err := new(http.Transport).RoundTrip(req)
		if err != nil {
			slow <- err.Error()
			return
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		slow <- fmt.Sprint(string(body), err)
	}()
	<-entered
	l := newLoad(t, first.url, true)
	l.more(20)
	now := first
	for range 3 {
		next := startWith(t, dir, "boot-1", func(o *Options) {
			withNodes(o)
			o.TakeOver, o.StopTimeout = true, 3*time.Second
		})
		until(t, "the successor has the node", func() bool { return next.has(t, "one") })
		l.more(100)
		now = next
		if leave != nil {
			close(leave) // what the first one has in flight ends there
			leave = nil
			if got := <-slow; got != "well<nil>" {
				t.Errorf("the request that was under way: %s", got)
			}
		}
	}
	l.end()
	if c := now.cluster(t); c.Address != at || c.Version != 1 {
		t.Errorf("the last one says %+v", c)
	}
}

func TestACertificateIsReplacedUnderRequests(t *testing.T) {
	f := newFleet(t)
	in := startWith(t, t.TempDir(), "boot-1", withNodes)
	at := f.push(in, "127.0.0.1:0")
	f.node(in, "one", at)
	in.push(t, nodeRoute(1, 0, on("one", backend(t, "one"))))
	l := newLoad(t, in.url, true)
	for range 5 {
		l.more(20)
		f.push(in, at)
	}
	l.more(50)
	l.end()
}

func TestANodeWhoseCertificateIsDeniedIsCutOff(t *testing.T) {
	f := newFleet(t)
	in := startWith(t, t.TempDir(), "boot-1", withNodes)
	at := f.push(in, "127.0.0.1:0")
	f.node(in, "one", at)
	bad := f.node(in, "two", at)
	in.push(t, nodeRoute(1, 0, on("one", backend(t, "one")), on("two", backend(t, "two"))))
	l := newLoad(t, in.url, false)
	l.more(20)
	f.denied = []string{wire.SerialText(bad)}
	f.push(in, at)
	until(t, "it is gone", func() bool { return !in.has(t, "two") })
	l.more(20)
	l.end()
	for range 10 {
		if status, body := in.get(t, "shop.test"); status != http.StatusOK || body != "one" {
			t.Errorf("got %d %q", status, body)
		}
	}
}

func TestWithoutNodesTheAddressIsGivenBack(t *testing.T) {
	f := newFleet(t)
	in := startWith(t, t.TempDir(), "boot-1", withNodes)
	at := f.push(in, "127.0.0.1:0")
	f.node(in, "one", at)
	f.push(in, "")
	if c := in.cluster(t); c.Address != "" || len(c.Nodes) != 0 {
		until(t, "nobody is left", func() bool { return len(in.cluster(t).Nodes) == 0 })
	}
	again := startWith(t, t.TempDir(), "boot-1", withNodes)
	if got := f.push(again, at); got != at {
		t.Errorf("the address went to %s", got)
	}
	if _, err := in.client.PushCluster(t.Context(), f.cluster(at)); err == nil || !strings.Contains(err.Error(), at) {
		t.Errorf("an address that is taken: %v", err)
	}
}

func TestACertificateThatNoAgentWouldTakeIsRefused(t *testing.T) {
	f := newFleet(t)
	in := start(t, t.TempDir(), "boot-1") // of the role ingress
	_, err := in.client.PushCluster(t.Context(), f.cluster("127.0.0.1:0"))
	if !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "role") {
		t.Errorf("another role: %v", err)
	}
	c := f.cluster("127.0.0.1:0")
	c.Key = table.NewPrivateKey(strings.Replace(c.Key.Reveal(), "A", "B", 1))
	if _, err := in.client.PushCluster(t.Context(), c); !errors.Is(err, table.ErrInvalid) || strings.Contains(err.Error(), c.Key.Reveal()) {
		t.Errorf("another key: %v", err)
	}
	c = f.cluster("127.0.0.1:0")
	c.Roots = string(wiretest.NewCA(t).PEM())
	if _, err := in.client.PushCluster(t.Context(), c); !errors.Is(err, table.ErrInvalid) || !strings.Contains(err.Error(), "authority") {
		t.Errorf("another authority: %v", err)
	}
}

// It took all that is passed on, and ended before it was ready.
func TestNodesStayWithADataPlaneWhoseSuccessorFails(t *testing.T) {
	f, dir := newFleet(t), t.TempDir()
	in := startWith(t, dir, "boot-1", withNodes)
	at := f.push(in, "127.0.0.1:0")
	f.node(in, "one", at)
	in.push(t, nodeRoute(1, 0, on("one", backend(t, "one"))))
	l := newLoad(t, in.url, true)
	for range 3 {
		next, err := control.TakeOver(t.Context(), filepath.Join(dir, "control.sock"))
		if err != nil {
			t.Fatal(err)
		}
		l.more(20)
		next.Close()
		until(t, "pushes are taken again", func() bool {
			_, err := in.client.Push(t.Context(), nodeRoute(1, 0, on("one", "127.0.0.1:1")))
			return errors.Is(err, table.ErrSameVersion)
		})
	}
	f.node(in, "two", at)
	l.more(20)
	l.end()
}
