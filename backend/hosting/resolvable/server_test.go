package resolvable_test

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// answer is how a server of the tests is.
type answer int

const (
	has4    answer = iota // an address of IPv4
	has6                  // one of IPv6 alone
	noName                // NXDOMAIN
	noData                // a name without addresses
	failure               // SERVFAIL
	silence
	lossy // does not answer the first two questions, then has4
)

// server answers DNS on loopback.
type server struct {
	kind  answer
	conn  net.PacketConn
	at    netip.AddrPort
	asked atomic.Int32
	name  atomic.Value
}

func serve(t *testing.T, kind answer) *server {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{kind: kind, conn: conn, at: netip.MustParseAddrPort(conn.LocalAddr().String())}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run()
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-ended
	})
	return s
}

func (s *server) run() {
	buf := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var q dnsmessage.Message
		if q.Unpack(buf[:n]) != nil || len(q.Questions) != 1 {
			continue
		}
		s.name.Store(q.Questions[0].Name.String())
		asked := s.asked.Add(1)
		if s.kind == silence || s.kind == lossy && asked <= 2 {
			continue
		}
		if out, err := s.reply(q); err == nil {
			_, _ = s.conn.WriteTo(out, from)
		}
	}
}

func (s *server) reply(q dnsmessage.Message) ([]byte, error) {
	question := q.Questions[0]
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.ID, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: q.Questions,
	}
	header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: dnsmessage.ClassINET, TTL: 60}
	switch {
	case s.kind == noName:
		m.RCode = dnsmessage.RCodeNameError
	case s.kind == failure:
		m.RCode = dnsmessage.RCodeServerFailure
	case (s.kind == has4 || s.kind == lossy) && question.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}}}
	case s.kind == has6 && question.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 1, 0xd, 0xb8, 15: 1}}}}
	}
	return m.Pack()
}
