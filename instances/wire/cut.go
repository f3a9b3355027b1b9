package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
)

// ErrCut: a connection ended without a word, as when a machine dies. It is no end, but
// an io.ErrUnexpectedEOF.
var ErrCut = fmt.Errorf("the connection was cut: %w", io.ErrUnexpectedEOF)

// Uncut wraps a connection below TLS. The standard library takes a TCP stream that ends
// between two records for an end of the session, so half a log or half an answer would
// pass for a whole one; with this, only a close_notify is an end.
func Uncut(c net.Conn) net.Conn { return uncut{c} }

type uncut struct{ net.Conn }

func (c uncut) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = ErrCut
	}
	return n, err
}

// NetConn is the connection below.
func (c uncut) NetConn() net.Conn { return c.Conn }
