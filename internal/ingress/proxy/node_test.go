package proxy

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// fakeNodes are nodes behind which a dial goes over TLS, as it does by an agent: what is
// read ahead there is not seen on the socket, and half a connection can end.
type fakeNodes struct {
	t      testing.TB
	server *tls.Config
	mu     sync.Mutex
	away   map[string]bool
	dials  map[string]int // by node and address
	ended  atomic.Int64   // targets whose end was passed on
	wg     sync.WaitGroup
}

var errAway = errors.New("the machine is not connected")

func newFakeNodes(t testing.TB) *fakeNodes {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, pub, key)
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNodes{t: t, away: map[string]bool{}, dials: map[string]int{}, server: &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}}
	t.Cleanup(n.wg.Wait)
	return n
}

// dial opens a connection to address as the agent of node would.
func (n *fakeNodes) dial(ctx context.Context, node, address string) (net.Conn, error) {
	n.mu.Lock()
	away := n.away[node]
	n.dials[node+" "+address]++
	n.mu.Unlock()
	if away {
		return nil, errAway
	}
	target, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }()
	back, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	raw, err := l.Accept()
	if err != nil {
		return nil, err
	}
	agent := tls.Client(back, &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
	n.wg.Go(func() {
		defer func() { _, _ = target.Close(), agent.Close() }()
		if agent.Handshake() != nil {
			return
		}
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := io.Copy(target, agent); err != nil {
				_ = target.Close()
			}
			_ = target.(*net.TCPConn).CloseWrite()
			_, _ = raw.Read(nil)
		})
		_, err := io.Copy(agent, target)
		_ = agent.CloseWrite()
		n.ended.Add(1)
		if err != nil {
			_ = back.Close()
		}
		both.Wait()
	})
	c := tls.Server(raw, n.server)
	return c, c.HandshakeContext(ctx)
}

func (n *fakeNodes) set(node string, away bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away[node] = away
}

func (n *fakeNodes) dialled(node, address string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[node+" "+address]
}

func newNodeRig(t testing.TB, change func(*Config)) (*rig, *fakeNodes) {
	t.Helper()
	n := newFakeNodes(t)
	return newRig(t, func(c *Config) {
		c.DialNode = n.dial
		if change != nil {
			change(c)
		}
	}), n
}

func on(node, address string) table.Target {
	return table.Target{ID: "c-" + node, Address: address, Node: node, Weight: 1}
}

// ask is the answer to one request.
func (r *rig) ask(method, path, body string) (int, string) {
	r.t.Helper()
	rep := r.do(r.request(method, path, strings.NewReader(body)))
	return rep.StatusCode, rep.body
}

func TestOneAddressOnTwoNodesIsTwoTargets(t *testing.T) {
	r, n := newNodeRig(t, nil)
	address := backend(t, says("well"))
	r.swap(routeTo("app", "app.test", "/", on("one", address), on("two", address), table.Target{ID: "here", Address: address, Weight: 1}))
	for range 9 {
		if status, body := r.ask(http.MethodGet, "/", ""); status != http.StatusOK || body != "well" {
			t.Fatalf("%d %q", status, body)
		}
	}
	if n.dialled("one", address) == 0 || n.dialled("two", address) == 0 {
		t.Errorf("dials %v", n.dials)
	}
	// The same container on another node is another target.
	moved := on("one", address)
	moved.Node = "two"
	r.swap(routeTo("app", "app.test", "/", on("one", address)))
	before := n.dialled("two", address)
	r.swap(routeTo("app", "app.test", "/", moved))
	if status, _ := r.ask(http.MethodGet, "/", ""); status != http.StatusOK || n.dialled("two", address) != before+1 {
		t.Errorf("status %d, dials %v, %d before", status, n.dials, before)
	}
}

func TestARequestGoesToTheNextTargetWhenANodeIsAway(t *testing.T) {
	r, n := newNodeRig(t, nil)
	r.swap(routeTo("app", "app.test", "/", on("one", backend(t, says("one"))), on("two", backend(t, says("two")))))
	n.set("one", true)
	for range 6 {
		status, body := r.ask(http.MethodPost, "/", "once")
		if status != http.StatusOK || body != "two" {
			t.Errorf("%d %q", status, body)
		}
	}
	n.set("two", true)
	n.set("one", false)
	r.client.CloseIdleConnections()
	got := make(chan string, 1)
	r.p.Swap() // no connection is left
	r.swap(routeTo("app", "app.test", "/", on("one", backend(t, says("back"))), on("two", closedPort(t))))
	go func() {
		_, body := r.ask(http.MethodGet, "/", "")
		got <- body
	}()
	if body := <-got; body != "back" {
		t.Errorf("got %q", body)
	}
}

func TestARequestIsHeldWhileAllNodesAreAway(t *testing.T) {
	r, n := newNodeRig(t, nil)
	address := backend(t, says("well"))
	n.set("one", true)
	r.swap(routeTo("app", "app.test", "/", on("one", address)))
	got := make(chan string, 1)
	go func() {
		status, body := r.ask(http.MethodGet, "/", "")
		got <- fmt.Sprint(status, " ", body)
	}()
	until(t, "it is held", func() bool { return r.p.held.Load() == 1 && n.dialled("one", address) > 2 })
	n.set("one", false)
	if g := <-got; g != "200 well" {
		t.Error(g)
	}
}

func TestWithoutNodesATargetOnOneIsAway(t *testing.T) {
	r := newRig(t, nil)
	route := routeTo("app", "app.test", "/", on("one", backend(t, says("well"))))
	route.HoldTimeout = 0
	r.swap(route)
	if status, _ := r.ask(http.MethodGet, "/", ""); status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
}

// A server that closes a connection says so to its agent, and that is read ahead with the
// answer before: the connection must not serve a request that cannot be sent twice.
func TestAConnectionThatItsServerHasClosedServesNoMoreThroughANode(t *testing.T) {
	var conns atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer func() { _ = c.Close() }()
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				// It looks as if it went on, and does not.
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}()
		}
	}()
	r, n := newNodeRig(t, nil)
	r.swap(routeTo("app", "app.test", "/", on("one", l.Addr().String())))
	for i := range int64(50) {
		if status, body := r.ask(http.MethodPost, "/", "once"); status != http.StatusOK || body != "ok" {
			t.Errorf("%d %q", status, body)
		}
		until(t, "its end has come", func() bool { return n.ended.Load() == i+1 })
	}
	if got := conns.Load(); got != 50 {
		t.Errorf("%d connections for 50 requests", got)
	}
}

// What a server sends beyond its answer, and a layer has read ahead, is nobody's answer.
func TestWhatComesUnaskedThroughANodeIsNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	// The head and the body fill the proxy's reader to the byte.
	head := "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
	size := 4<<10 - len(fmt.Sprintf(head, 4000))
	answer := fmt.Sprintf(head, size) + strings.Repeat("a", size) + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				br := bufio.NewReader(c)
				for {
					if _, err := http.ReadRequest(br); err != nil {
						return
					}
					_, _ = io.WriteString(c, answer)
				}
			}()
		}
	}()
	r, _ := newNodeRig(t, nil)
	r.swap(routeTo("app", "app.test", "/", on("one", l.Addr().String())))
	for range 20 {
		if _, body := r.ask(http.MethodGet, "/", ""); body == "forged" {
			t.Fatal("it was taken for an answer")
		}
	}
}

func TestConnectionsThroughANodeAreUsedAgain(t *testing.T) {
	r, n := newNodeRig(t, nil)
	address := backend(t, says("well"))
	r.swap(routeTo("app", "app.test", "/", on("one", address)))
	for range 20 {
		if status, _ := r.ask(http.MethodGet, "/", ""); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	if d := n.dialled("one", address); d > 2 {
		t.Errorf("%d dials for 20 requests", d)
	}
}

func TestAWebSocketThroughANodeEndsWithACloseFrameAtTheDrain(t *testing.T) {
	r, _ := newNodeRig(t, nil)
	ended := make(chan websocket.StatusCode, 1)
	address := backend(t, func(w http.ResponseWriter, req *http.Request) {
		c, err := websocket.Accept(w, req, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		for {
			kind, data, err := c.Read(context.Background())
			if err != nil {
				ended <- websocket.CloseStatus(err)
				return
			}
			_ = c.Write(context.Background(), kind, data)
		}
	})
	route := routeTo("app", "app.test", "/", on("one", address))
	route.DrainTimeout = 50 * time.Millisecond
	r.swap(route)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+r.addr+"/ws", &websocket.DialOptions{Host: "app.test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if err := c.Write(ctx, websocket.MessageText, []byte("echo")); err != nil {
		t.Fatal(err)
	}
	if _, data, err := c.Read(ctx); err != nil || string(data) != "echo" {
		t.Fatalf("%q, %v", data, err)
	}
	route.Targets = nil
	r.swap(route)
	if _, _, err := c.Read(ctx); websocket.CloseStatus(err) != websocket.StatusServiceRestart && websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the client sees %v", err)
	}
	if code := <-ended; code == -1 {
		t.Error("the server sees a break")
	}
}

func TestAnEventStreamThroughANodeEndsBetweenTwoEventsAtTheDrain(t *testing.T) {
	r, _ := newNodeRig(t, nil)
	address := backend(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	route := routeTo("app", "app.test", "/", on("one", address))
	route.DrainTimeout = 50 * time.Millisecond
	r.swap(route)
	req := r.request(http.MethodGet, "/", nil)
	req.Host = "app.test"
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	br := bufio.NewReader(res.Body)
	if line, err := br.ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("%q, %v", line, err)
	}
	route.Targets = nil
	r.swap(route)
	if rest, err := io.ReadAll(br); err != nil || string(rest) != "\n" {
		t.Errorf("it ends with %q, %v", rest, err)
	}
}

func TestHalfAConnectionMayEndThroughANode(t *testing.T) {
	r, _ := newNodeRig(t, nil)
	address := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		all, _ := io.ReadAll(rw) // to the client's end
		_, _ = c.Write(append([]byte("heard "), all...))
	})
	r.swap(routeTo("app", "app.test", "/", on("one", address)))
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	br := bufio.NewReader(c)
	res, err := http.ReadResponse(br, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	_, _ = io.WriteString(c, "all of it")
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(br); err != nil || string(got) != "heard all of it" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASlowRequestOnANodeFinishesInItsDrain(t *testing.T) {
	r, _ := newNodeRig(t, nil)
	entered, leave := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "well")
	}))
	t.Cleanup(s.Close)
	r.swap(routeTo("app", "app.test", "/", on("one", address(s))))
	got := make(chan string, 1)
	go func() {
		_, body := r.ask(http.MethodGet, "/", "")
		got <- body
	}()
	<-entered
	r.swap(routeTo("app", "app.test", "/"))
	close(leave)
	if body := <-got; body != "well" {
		t.Errorf("got %q", body)
	}
	until(t, "it is drained", func() bool { return len(r.p.Report().Targets) == 0 })
}
