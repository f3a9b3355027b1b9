package nodes

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// rig is a cluster, whose agents take the data plane for a server: so that they dial
// loopback, where the targets of tests are.
type rig struct {
	*testing.T
	ca      *wiretest.CA
	version int64
}

func newRig(t *testing.T) *rig { return &rig{T: t, ca: wiretest.NewCA(t)} }

func (r *rig) nodes(change func(*Options)) *Nodes {
	r.Helper()
	o := Options{Role: wire.RoleServer, Timing: hub.Timing{Heartbeat: time.Second}, Relisten: 5 * time.Millisecond, Arrival: patience}
	if change != nil {
		change(&o)
	}
	n, err := New(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(n.Close)
	return n
}

func (r *rig) cluster(listen string) table.Cluster {
	r.Helper()
	cert := r.ca.Server(r, wire.RoleServer)
	der, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey.(ed25519.PrivateKey))
	if err != nil {
		r.Fatal(err)
	}
	r.version++
	return table.Cluster{
		Protocol: table.Protocol, Version: r.version, Listen: listen, Certificate: string(wiretest.CertPEM(cert)), Roots: string(r.ca.PEM()),
		Key: table.NewPrivateKey(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))),
	}
}

func saved() error { return nil }

// use has n take agents, and returns where.
func (r *rig) use(n *Nodes, listen string) string {
	r.Helper()
	at, err := n.Use(r.cluster(listen), saved)
	if err != nil {
		r.Fatal(err)
	}
	return at
}

func (r *rig) agent(node, address string) {
	r.Helper()
	cert := r.ca.Agent(r, node)
	wiretest.RunAgent(r, agent.Config{
		Dir:    wiretest.Folder(r, r.ca, wiretest.Machine{Instance: node, Agent: address, Cert: &cert}),
		BootID: "boot-1", Timing: agent.Timing{RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond},
	})
}

func (r *rig) until(what string, ok func() bool) {
	r.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			r.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func (r *rig) joined(n *Nodes, node string) {
	r.Helper()
	r.until(node+" is connected", func() bool { return n.hub.Online(node) })
}

// joinedBy is one that takes agents, at that address, with the machine one connected.
func (r *rig) joinedBy(c table.Cluster) (n *Nodes, at string) {
	r.Helper()
	n = r.nodes(nil)
	at, err := n.Use(c, saved)
	if err != nil {
		r.Fatal(err)
	}
	r.agent("one", at)
	r.joined(n, "one")
	return n, at
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.Cleanup(cancel)
	return ctx
}

// target is a TCP server on loopback.
func (r *rig) target(serve func(*net.TCPConn)) string {
	r.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				serve(c.(*net.TCPConn))
			})
		}
	})
	r.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// echo answers all once it has heard the end.
func echo(c *net.TCPConn) {
	all, _ := io.ReadAll(c)
	_, _ = c.Write(all)
}

func (r *rig) dial(n *Nodes, node, address string) net.Conn {
	r.Helper()
	c, err := n.Dial(r.ctx(), node, address)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// said sends text and the end, and returns what comes back.
func (r *rig) said(c net.Conn, text string) string {
	r.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		r.Fatal(err)
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		r.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil {
		r.Fatal(err)
	}
	return string(got)
}

func TestANodeThatIsAwayIsAnErrorAtOnce(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	if _, err := n.Dial(r.ctx(), "one", "127.0.0.1:1"); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("before there is a cluster: %v", err)
	}
	r.use(n, "127.0.0.1:0")
	if _, err := n.Dial(r.ctx(), "one", "127.0.0.1:1"); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("with one: %v", err)
	}
}

func TestADialWaitsForANodeThatComesBack(t *testing.T) {
	r := newRig(t)
	first := r.nodes(nil)
	at := r.use(first, "127.0.0.1:0")
	c := r.cluster(at)
	first.Close()
	n := r.nodes(nil)
	n.Restore(c, nil, 1)
	target := r.target(echo)
	got := make(chan error, 1)
	go func() {
		c, err := n.Dial(r.ctx(), "one", target)
		if err == nil {
			_ = c.Close()
		}
		got <- err
	}()
	r.agent("one", at)
	if err := <-got; err != nil {
		t.Error(err)
	}
	// They are all here: nobody is waited for.
	r.until("an error at once", func() bool {
		_, err := n.Dial(r.ctx(), "two", target)
		return errors.Is(err, hub.ErrOffline)
	})
}

func TestNobodyIsWaitedForForLong(t *testing.T) {
	r := newRig(t)
	n := r.nodes(func(o *Options) { o.Arrival = 20 * time.Millisecond })
	n.Restore(r.cluster("127.0.0.1:0"), nil, 0)
	if _, err := n.Dial(r.ctx(), "one", "127.0.0.1:1"); !errors.Is(err, hub.ErrOffline) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slow := r.nodes(nil)
	slow.Restore(r.cluster("127.0.0.1:0"), nil, 0)
	if _, err := slow.Dial(ctx, "one", "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnAddressThatIsTakenAtTheStartIsTriedAgain(t *testing.T) {
	r := newRig(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := other.Addr().String()
	n := r.nodes(nil)
	n.Restore(r.cluster(at), nil, 0)
	if rep := n.Report(); rep.Address != "" || !strings.Contains(rep.Error, at) {
		t.Errorf("the report says %+v", rep)
	}
	_ = other.Close()
	r.until("it listens", func() bool { rep := n.Report(); return rep.Address == at && rep.Error == "" })
	r.agent("one", at)
	r.joined(n, "one")
}

func TestWhatIsStoredAndCannotBeUsedIsReported(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	c := r.cluster("127.0.0.1:0")
	c.Roots = string(wiretest.NewCA(t).PEM())
	n.Restore(c, nil, 0)
	if rep := n.Report(); rep.Version != c.Version || rep.Error == "" || rep.Address != "" {
		t.Errorf("the report says %+v", rep)
	}
	if at := r.use(n, "127.0.0.1:0"); at == "" || n.Report().Error != "" {
		t.Errorf("after a push: %+v", n.Report())
	}
}

func TestAClusterThatCannotBeSavedChangesNothing(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	at := r.use(n, "127.0.0.1:0")
	r.agent("one", at)
	r.joined(n, "one")
	full := errors.New("disk full")
	c := r.cluster("127.0.0.1:0")
	c.Denied = []string{"0"}
	if _, err := n.Use(c, func() error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if rep := n.Report(); rep.Version != 1 || rep.Address != at || len(rep.Nodes) != 1 || n.Denied("0") {
		t.Errorf("the report says %+v", rep)
	}
}

func TestAnotherAddressCutsNothing(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	before := r.use(n, "127.0.0.1:0")
	r.agent("one", before)
	r.joined(n, "one")
	target := r.target(echo)
	standing := r.dial(n, "one", target)
	after := r.use(n, ":0")
	if got := r.said(standing, "still"); got != "still" {
		t.Errorf("got %q", got)
	}
	if c, err := net.Dial("tcp", before); err == nil {
		_ = c.Close()
		t.Error("the address before takes connections still")
	}
	_, port, _ := net.SplitHostPort(after)
	r.agent("two", "127.0.0.1:"+port)
	r.joined(n, "two")
	if got := r.said(r.dial(n, "two", target), "new"); got != "new" {
		t.Errorf("got %q", got)
	}
}

// handOver is a second process that takes the agents of the first.
func (r *rig) handOver(first *Nodes, c table.Cluster) *Nodes {
	r.Helper()
	e, err := first.Estate()
	if err != nil {
		r.Fatal(err)
	}
	second := r.nodes(nil)
	second.Expect(e.Nodes)
	dials := again(r, e.Dials)
	had := listenerOf(r, e)
	e.Release()
	second.Restore(c, had, e.Nodes)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := second.Serve(dials); err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(func() {
		second.Close()
		wg.Wait()
	})
	return second
}

// again is the file as another process gets it.
func again(r *rig, f *os.File) *os.File {
	r.Helper()
	c, err := net.FileConn(f)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	other, err := c.(*net.UnixConn).File()
	if err != nil {
		r.Fatal(err)
	}
	return other
}

func listenerOf(r *rig, e *Estate) *net.TCPListener {
	r.Helper()
	f, err := e.Listener.(*net.TCPListener).File()
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		r.Fatal(err)
	}
	return l.(*net.TCPListener)
}

func TestASuccessorHasTheAgentsAndDialsForTheOneBefore(t *testing.T) {
	r := newRig(t)
	c := r.cluster("127.0.0.1:0")
	first, at := r.joinedBy(c)
	target := r.target(echo)
	standing := r.dial(first, "one", target)
	second := r.handOver(first, c)
	third := r.handOver(second, c)
	if got := r.said(standing, "still"); got != "still" {
		t.Errorf("what the first one has dialled: %q", got)
	}
	big := strings.Repeat("x", 200_000)
	for i, n := range []*Nodes{third, second, first} { // each by the one after it
		if got := r.said(r.dial(n, "one", target), big); got != big {
			t.Errorf("%d: %d bytes", i, len(got))
		}
		if _, err := n.Dial(r.ctx(), "one", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%d: where nobody listens: %v", i, err)
		}
	}
	if rep := third.Report(); rep.Address != at || len(rep.Nodes) != 1 {
		t.Errorf("the last one says %+v", rep)
	}
}

// What broke off must not look whole, whichever process has the connection.
func TestABreakIsABreakThroughTheSuccessorToo(t *testing.T) {
	r := newRig(t)
	c := r.cluster("127.0.0.1:0")
	first, _ := r.joinedBy(c)
	second := r.handOver(first, c)
	target := r.target(func(c *net.TCPConn) {
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "half of it")
		_, _ = bufio.NewReader(c).ReadString('\n')
		_ = c.SetLinger(0)
	})
	for i, n := range []*Nodes{second, first} {
		c := r.dial(n, "one", target)
		_, _ = io.WriteString(c, "begin\n")
		got := make([]byte, len("half of it"))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "half of it" {
			t.Fatalf("%d: %q, %v", i, got, err)
		}
		_, _ = io.WriteString(c, "break\n")
		if rest, err := io.ReadAll(c); err == nil {
			t.Errorf("%d: it ends as if it were whole, with %q", i, rest)
		}
	}
}

func TestDeadlinesOfAConnectionThroughTheSuccessorSpoilNothing(t *testing.T) {
	r := newRig(t)
	c := r.cluster("127.0.0.1:0")
	first, _ := r.joinedBy(c)
	r.handOver(first, c)
	target := r.target(func(c *net.TCPConn) {
		br := bufio.NewReader(c)
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, line)
		}
	})
	conn := r.dial(first, "one", target)
	br := bufio.NewReader(conn)
	for i := range 20 {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a read that may not wait: %d, %v", n, err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		want := fmt.Sprintf("line %d\n", i)
		_, _ = io.WriteString(conn, want)
		if got, err := br.ReadString('\n'); err != nil || got != want {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func TestASuccessorThatDiesLeavesErrorsAndNoWait(t *testing.T) {
	r := newRig(t)
	c := r.cluster("127.0.0.1:0")
	first := r.nodes(nil)
	if _, err := first.Use(c, saved); err != nil {
		t.Fatal(err)
	}
	second := r.handOver(first, c)
	second.Close()
	r.until("a dial fails", func() bool {
		_, err := first.Dial(r.ctx(), "one", "127.0.0.1:1")
		return errors.Is(err, errHeir)
	})
}

func TestAnEstateThatIsKeptChangesNothing(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	at := r.use(n, "127.0.0.1:0")
	r.agent("one", at)
	r.joined(n, "one")
	e, err := n.Estate()
	if err != nil {
		t.Fatal(err)
	}
	if e.Asked != "127.0.0.1:0" || e.Nodes != 1 {
		t.Errorf("estate %+v", e)
	}
	e.Keep()
	if got := r.said(r.dial(n, "one", r.target(echo)), "well"); got != "well" {
		t.Errorf("got %q", got)
	}
}

func TestThereIsAReportOnceThereIsACluster(t *testing.T) {
	r := newRig(t)
	n := r.nodes(nil)
	if n.Report() != nil {
		t.Error("there is a report before there is a cluster")
	}
	r.use(n, "")
	if rep := n.Report(); rep == nil || rep.Version != 1 || rep.Address != "" || rep.Nodes == nil {
		t.Errorf("of no nodes: %+v", rep)
	}
}

func TestAReportIsBounded(t *testing.T) {
	var all []hub.Node
	for i := range table.MaxReportedNodes + 7 {
		all = append(all, hub.Node{InstanceID: fmt.Sprintf("%05d", 99999-i)})
	}
	got, more := bounded(all)
	if len(got) != table.MaxReportedNodes || more != 7 || got[0].ID != fmt.Sprintf("%05d", 99999-len(all)+1) {
		t.Errorf("%d and %d more, from %s", len(got), more, got[0].ID)
	}
	if got, more := bounded(all[:3]); len(got) != 3 || more != 0 {
		t.Errorf("of 3: %d and %d", len(got), more)
	}
}
