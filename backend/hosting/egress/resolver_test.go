package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// script is a name server whose n-th answer for a name's IPv4 addresses is the n-th of
// a list; the last one stays.
type script struct {
	mu      sync.Mutex
	answers [][]string
	asked   int
	running sync.WaitGroup
}

// resolver asks the script, over pipes.
func (s *script) resolver(t *testing.T) *net.Resolver {
	t.Cleanup(s.running.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		mine, theirs := net.Pipe()
		s.running.Go(func() {
			defer theirs.Close()
			for s.answer(theirs) == nil {
			}
		})
		return mine, nil
	}}
}

// answer takes one question as it is put over TCP, with its length before it.
func (s *script) answer(c net.Conn) error {
	var length [2]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return err
	}
	text := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(c, text); err != nil {
		return err
	}
	var q dnsmessage.Message
	if err := q.Unpack(text); err != nil {
		return err
	}
	reply, err := s.reply(q)
	if err != nil {
		return err
	}
	_, err = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
	return err
}

func (s *script) reply(q dnsmessage.Message) ([]byte, error) {
	question := q.Questions[0]
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, RecursionAvailable: true}, Questions: q.Questions[:1]}
	if question.Type == dnsmessage.TypeA {
		s.mu.Lock()
		now := s.answers[min(s.asked, len(s.answers)-1)]
		s.asked++
		s.mu.Unlock()
		for _, text := range now {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()},
			})
		}
	}
	return m.Pack()
}
