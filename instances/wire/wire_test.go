package wire_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhatIsWrittenIsRead(t *testing.T) {
	var b bytes.Buffer
	sent := []wire.Message{
		{Hello: &wire.Hello{InstanceID: "i", Facts: wire.Facts{Addresses: []string{"10.0.0.1"}}}},
		{Heartbeat: &wire.Heartbeat{Seq: 3, Metrics: wire.Metrics{Load1: 0.5}}},
		{Notice: &wire.Notice{Kind: wire.NoticeTermination, At: time.Unix(1, 0).UTC()}},
		{Ping: &wire.Ping{}}, {Bye: &wire.Bye{}},
		{Dial: &wire.Dial{ID: "x", Kind: wire.KindAddress, Address: "10.0.0.1:80"}},
	}
	for _, m := range sent {
		if err := wire.WriteFrame(&b, m); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString("raw bytes")
	for _, want := range sent {
		got, err := wire.ReadMessage(&b)
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if b.String() != "raw bytes" {
		t.Errorf("%q is left of what follows", b.String())
	}
}

func TestAFrameThatIsTooLongIsNeitherSentNorRead(t *testing.T) {
	if err := wire.WriteFrame(io.Discard, strings.Repeat("x", wire.MaxFrame)); !errors.Is(err, wire.ErrFrameSize) {
		t.Errorf("%v", err)
	}
	var into any
	endless := io.MultiReader(bytes.NewReader([]byte{0, 1, 0, 1}), rand.Reader)
	if err := wire.ReadFrame(endless, &into); !errors.Is(err, wire.ErrFrameSize) || !errors.Is(err, wire.ErrFrame) {
		t.Errorf("%v", err)
	}
}

func TestHalfAFrameIsNoEnd(t *testing.T) {
	var b bytes.Buffer
	_ = wire.WriteFrame(&b, wire.Message{Ping: &wire.Ping{}})
	all := b.Bytes()
	for n := range all {
		_, err := wire.ReadMessage(bytes.NewReader(all[:n]))
		if want := io.ErrUnexpectedEOF; n == 0 {
			if !errors.Is(err, io.EOF) {
				t.Errorf("nothing: %v", err)
			}
		} else if !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// A field of a newer version is passed over; a message of one is not.
func TestWhatIsNotKnown(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"ping":{"newer":1}}`: true, `{"ping":{},"newer":null}`: true, `{"newer":{}}`: false, `[]`: false, `null`: false,
	} {
		_, err := wire.ReadMessage(bytes.NewReader(append([]byte{0, 0, 0, byte(len(text))}, text...)))
		if ok != (err == nil) || !ok && !errors.Is(err, wire.ErrFrame) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestARhythmThatIsAskedForHasBounds(t *testing.T) {
	for ms, every := range map[int64]time.Duration{
		0: wire.HeartbeatEvery, -5: wire.HeartbeatEvery, math.MinInt64: wire.HeartbeatEvery,
		1: time.Second, 999: time.Second, 1000: time.Second, 2500: 2500 * time.Millisecond,
		60_000: time.Minute, 60_001: time.Minute, math.MaxInt64: time.Minute,
	} {
		w := wire.Welcome{HeartbeatMS: ms}
		if got := w.Heartbeat(); got != every {
			t.Errorf("%d ms: %s, want %s", ms, got, every)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, m := range []any{wire.Message{Hello: &wire.Hello{InstanceID: "i"}}, wire.Message{Dialed: &wire.Dialed{ID: "x"}}, 1, "x"} {
		var b bytes.Buffer
		_ = wire.WriteFrame(&b, m)
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire.ReadMessage(bytes.NewReader(data))
		if err != nil {
			return
		}
		if err := m.Check(); err != nil {
			t.Errorf("it was read and is refused: %v", err)
		}
		// What one side reads, it may pass on.
		var b bytes.Buffer
		if err := wire.WriteFrame(&b, m); err != nil {
			if !errors.Is(err, wire.ErrFrameSize) {
				t.Fatal(err)
			}
			return
		}
		again, err := wire.ReadMessage(&b)
		if err != nil {
			t.Fatalf("%v: %q", err, data)
		}
		one, _ := json.Marshal(m)
		two, _ := json.Marshal(again)
		if !bytes.Equal(one, two) {
			t.Errorf("%s became %s", one, two)
		}
	})
}

func TestATextThatIsSentAsAnErrorPassesTheCheck(t *testing.T) {
	for _, text := range []string{"", "a\nb\x00", strings.Repeat("ä", 1000), "\xff\xfe"} {
		m := wire.Message{Dialed: &wire.Dialed{Error: wire.Clip(text)}}
		if err := m.Check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestARoleIsReadAsItWasWritten(t *testing.T) {
	ca := wiretest.NewCA(t)
	for _, role := range []wire.Role{wire.RoleAgent, wire.RoleServer, wire.RoleIngress, wire.RoleOperator} {
		c := ca.Issue(t, wiretest.Leaf{Role: role, Name: "i", Tenants: []string{"acme"}}).Leaf
		id, err := wire.Identify(c)
		if err != nil || id != (wire.Identity{Role: role, InstanceID: "i", Tenant: "acme", Serial: c.SerialNumber.Text(16)}) {
			t.Errorf("%+v, %v", id, err)
		}
	}
	if _, err := wire.RoleExtension("admin"); !errors.Is(err, wire.ErrRole) {
		t.Errorf("%v", err)
	}
}

func TestARoleThatIsForgedIsNone(t *testing.T) {
	ca := wiretest.NewCA(t)
	oid := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 65834, 1}
	value := func(text, tag string) []byte {
		b, err := asn1.MarshalWithParams(text, tag)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, e := range map[string][]byte{
		"unknown":        value("admin", "utf8"),
		"empty":          value("", "utf8"),
		"another string": value("server", "printable"),
		"more behind it": append(value("server", "utf8"), 0),
		"no ASN.1":       []byte("server"),
	} {
		c := ca.Issue(t, wiretest.Leaf{Name: "i", Extra: []pkix.Extension{{Id: oid, Value: e}}})
		if role, err := wire.RoleOf(c.Leaf); !errors.Is(err, wire.ErrRole) {
			t.Errorf("%s: %q, %v", name, role, err)
		}
	}
	if _, err := wire.RoleOf(ca.Issue(t, wiretest.Leaf{Name: "server"}).Leaf); !errors.Is(err, wire.ErrRole) {
		t.Errorf("by its name: %v", err)
	}
}

// connected are both ends of a TCP connection: one of net.Pipe has no room for what TLS
// sends unasked.
func connected(t *testing.T) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// pair is a session of TLS between an agent and a server.
func pair(t *testing.T) (client, server *tls.Conn) {
	t.Helper()
	ca := wiretest.NewCA(t)
	a, b := connected(t)
	client = tls.Client(wire.Uncut(a), wire.Peer{Certificate: wiretest.Held(ca.Agent(t, "i")), Roots: ca.Roots(), Role: wire.RoleServer}.Client("127.0.0.1", "p"))
	server = tls.Server(wire.Uncut(b), wire.Peer{Certificate: wiretest.Held(ca.Server(t, wire.RoleServer)), Roots: ca.Roots(), Role: wire.RoleAgent}.Server("p"))
	errs := make(chan error, 1)
	go func() { errs <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-errs); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestAProofHoldsForOneTokenAndOneSession(t *testing.T) {
	client, server := pair(t)
	_, elsewhere := pair(t)
	public, key, _ := ed25519.GenerateKey(rand.Reader)
	other, _, _ := ed25519.GenerateKey(rand.Reader)
	proof, err := wire.Prove(key, "token", client.ConnectionState())
	if err != nil {
		t.Fatal(err)
	}
	if !wire.Proven(public, "token", server.ConnectionState(), proof) {
		t.Error("it does not hold")
	}
	if wire.Proven(public, "token2", server.ConnectionState(), proof) || wire.Proven(other, "token", server.ConnectionState(), proof) ||
		wire.Proven(public, "token", elsewhere.ConnectionState(), proof) || wire.Proven(nil, "token", server.ConnectionState(), proof) ||
		wire.Proven(public, "token", server.ConnectionState(), nil) {
		t.Error("it holds for another token, key or session")
	}
}

func TestACutStreamIsNoEnd(t *testing.T) {
	client, server := pair(t)
	go func() { _ = server.NetConn().Close() }()
	if _, err := io.ReadAll(client); !errors.Is(err, wire.ErrCut) {
		t.Errorf("%v", err)
	}
	client, server = pair(t)
	go func() { _ = server.CloseWrite() }()
	if _, err := io.ReadAll(client); err != nil {
		t.Errorf("an end: %v", err)
	}
}

func TestAServerIsKnownByItsNameAuthorityAndRole(t *testing.T) {
	ca, foreign := wiretest.NewCA(t), wiretest.NewCA(t)
	for name, tc := range map[string]struct {
		cert tls.Certificate
		host string
		ok   bool
	}{
		"itself":          {ca.Server(t, wire.RoleServer), "127.0.0.1", true},
		"by another name": {ca.Server(t, wire.RoleServer), "10.9.9.9", false},
		"of another":      {foreign.Server(t, wire.RoleServer), "127.0.0.1", false},
		"the data plane":  {ca.Server(t, wire.RoleIngress), "127.0.0.1", false},
		"an agent":        {ca.Agent(t, "127.0.0.1"), "127.0.0.1", false},
		"over":            {ca.Issue(t, wiretest.Leaf{Role: wire.RoleServer, Name: "x", Age: time.Hour, Life: -time.Minute}), "127.0.0.1", false},
	} {
		a, b := connected(t)
		client := tls.Client(a, wire.Peer{Certificate: wiretest.Held(ca.Agent(t, "i")), Roots: ca.Roots(), Role: wire.RoleServer}.Client(tc.host, "p"))
		server := tls.Server(b, wire.Peer{Certificate: wiretest.Held(tc.cert), Roots: ca.Roots(), Role: wire.RoleAgent}.Server("p"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Handshake()
			b.Close()
		}()
		if err := client.Handshake(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
		a.Close()
		<-done
	}
}
