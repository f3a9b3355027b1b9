package process

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/berth-cloud/berth/internal/ingress/control"
	"github.com/berth-cloud/berth/internal/ingress/nodes"
	"github.com/berth-cloud/berth/internal/ingress/store"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

var _ control.Nodes = (*nodes.Nodes)(nil)

// storedCluster is what the agents of nodes were taken with before, nil for nothing.
func storedCluster(log *slog.Logger, st *store.Store) *table.Cluster {
	c, err := st.LoadCluster()
	if err != nil {
		log.Error("what the agents of nodes were taken with cannot be read; nodes are out of reach until it is pushed anew", "error", err)
	}
	return c
}

// legacy is what a predecessor leaves of nodes.
type legacy struct {
	listener *net.TCPListener // at which it takes their agents; nil for none
	nodes    int              // that are connected to it
	dials    *os.File         // by which it asks for what it has to dial while it drains; may be nil
}

// inheritNodes takes what the predecessor, if there is one, has for the stored cluster.
func inheritNodes(log *slog.Logger, from *control.Takeover, stored *table.Cluster) legacy {
	if from == nil {
		return legacy{}
	}
	l := legacy{nodes: from.Nodes(), dials: from.File(dialsHeirloom)}
	if stored == nil {
		return l
	}
	if f := from.File(nodesHeirloom + stored.Listen); f != nil {
		var err error
		if l.listener, err = adoptTCP(f); err != nil {
			log.Error("the socket for the agents of nodes was not taken over; it is opened anew", "error", err)
		}
	}
	return l
}

func (l *legacy) close() {
	if l.listener != nil {
		_ = l.listener.Close()
	}
	if l.dials != nil {
		_ = l.dials.Close()
	}
}

// restoreNodes takes the agents of nodes again as they were taken before. A predecessor
// must have been told that this process is ready: an agent that answers a dial comes to
// whoever takes its connection.
func (d *daemon) restoreNodes() {
	if d.stored != nil {
		d.nodes.Restore(*d.stored, d.legacy.listener, d.legacy.nodes)
	}
}

func adoptTCP(f *os.File) (*net.TCPListener, error) {
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	tl, ok := l.(*net.TCPListener)
	if !ok {
		_ = l.Close()
		return nil, fmt.Errorf("%s is no TCP socket", f.Name())
	}
	return tl, nil
}

// serveDials does for a predecessor what it has to dial while it drains.
func (d *daemon) serveDials() error {
	if d.legacy.dials == nil {
		return nil
	}
	return d.nodes.Serve(d.legacy.dials)
}

// handover is this process's part of passing all on.
func (d *daemon) handover() *control.Handover {
	var estate *nodes.Estate // the server allows one handover at once
	return &control.Handover{
		Begin: func() (control.Estate, error) {
			e, err := d.nodes.Estate()
			if err != nil {
				return control.Estate{}, err
			}
			estate = e
			files := append(d.in.heirlooms(), control.Heirloom{Name: dialsHeirloom, File: e.Dials})
			if e.Listener != nil {
				files = append(files, control.Heirloom{Name: nodesHeirloom + e.Asked, File: e.Listener})
			}
			return control.Estate{Files: files, Nodes: e.Nodes}, nil
		},
		Failed: func() { estate.Keep() },
		Done: func() {
			estate.Release()
			d.once.Do(func() { close(d.succeeded) })
		},
	}
}
