package hub

import (
	"crypto/tls"
	"net"
	"sync"

	"github.com/berth-cloud/berth/instances/wire"
)

// Conn is a connection through a machine. CloseWrite ends what is sent and leaves what is
// received; an end of the other side's is io.EOF, a connection that broke is wire.ErrCut.
type Conn struct {
	*tls.Conn
	hub  *Hub
	by   net.Listener
	id   wire.Identity
	once sync.Once
}

var _ net.Conn = (*Conn)(nil)

// Close ends both directions.
func (c *Conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

func (c *Conn) forget() {
	c.once.Do(func() {
		c.hub.mu.Lock()
		defer c.hub.mu.Unlock()
		delete(c.hub.conns, c)
		c.hub.unload(c.id.InstanceID)
	})
}

// closeConns cuts those that were handed out.
func (h *Hub) closeConns(which func(*Conn) bool) {
	h.mu.Lock()
	var all []*Conn
	for c := range h.conns {
		all = append(all, c)
	}
	h.mu.Unlock()
	for _, c := range all {
		if which(c) {
			c.forget()
			_ = c.NetConn().Close()
		}
	}
}
