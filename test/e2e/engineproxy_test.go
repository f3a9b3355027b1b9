package e2e

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// engineProxy stands in front of the engine's socket, so that a test can take
// the engine away from one Berth alone.
type engineProxy struct {
	t      *testing.T
	path   string
	engine string
	wg     sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
}

func newEngineProxy(t *testing.T, engine string) *engineProxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "berth-e2e-docker-")
	if err != nil {
		t.Fatal(err)
	}
	p := &engineProxy{t: t, path: filepath.Join(dir, "docker.sock"), engine: engine, conns: map[net.Conn]bool{}}
	p.up()
	t.Cleanup(func() {
		p.down()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *engineProxy) address() string { return "unix://" + p.path }

func (p *engineProxy) up() {
	p.t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(p.t.Context(), "unix", p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener = l
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(c) })
		}
	})
}

// down ends every connection and takes no new one, as a stopped engine does.
func (p *engineProxy) down() {
	p.mu.Lock()
	if p.listener != nil {
		if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			p.t.Error(err)
		}
		p.listener = nil
	}
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// keep notes a connection, or closes it when the engine is down.
func (p *engineProxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *engineProxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	_ = c.Close()
}

func (p *engineProxy) carry(near net.Conn) {
	if !p.keep(near) {
		return
	}
	defer p.drop(near)
	var d net.Dialer
	far, err := d.Dial("unix", p.engine)
	if err != nil || !p.keep(far) {
		return
	}
	defer p.drop(far)
	var both sync.WaitGroup
	both.Go(func() { pass(far, near) })
	pass(near, far)
	both.Wait()
}

// pass carries one direction and its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
