package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/berth-cloud/berth/internal/ingress/control"
)

// The names of what is passed on in a handover.
const (
	lockHeirloom    = "lock"
	controlHeirloom = "control"
	httpHeirloom    = "http "  // and the address that was asked for
	nodesHeirloom   = "nodes " // and the address that was asked for
	dialsHeirloom   = "node dials"
)

// inheritance is what only one process can have: the directory, the control
// socket and the listeners, opened anew or taken over.
type inheritance struct {
	from      *control.Takeover // nil: opened anew
	lock      *os.File
	socket    *net.UnixListener
	listeners []listener
}

func acquire(ctx context.Context, log *slog.Logger, o Options) (*inheritance, error) {
	in := &inheritance{}
	if o.TakeOver {
		from, err := control.TakeOver(ctx, o.Control)
		switch {
		case errors.Is(err, control.ErrNoPredecessor):
			log.Info("nothing to take over; starting anew", "reason", err)
		case err != nil:
			return nil, err
		default:
			in.from = from
		}
	}
	if err := in.open(ctx, o); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func (in *inheritance) open(ctx context.Context, o Options) error {
	inherited := func(string) *os.File { return nil }
	if in.from != nil {
		inherited = in.from.File
	}
	var err error
	if in.lock = inherited(lockHeirloom); in.lock != nil {
		signLock(in.lock)
	} else if in.lock, err = lockDir(o.Dir); err != nil {
		return err
	}
	if f := inherited(controlHeirloom); f != nil {
		in.socket, err = adoptSocket(f)
	} else {
		in.socket, err = control.Listen(o.Control)
	}
	if err != nil {
		return err
	}
	in.listeners, err = listenAll(ctx, o.HTTP, inherited)
	return err
}

func adoptSocket(f *os.File) (*net.UnixListener, error) {
	defer func() { _ = f.Close() }()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("take over the control socket: %w", err)
	}
	ul, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close()
		return nil, errors.New("take over the control socket: it is none")
	}
	return ul, nil
}

// heirlooms is what a successor gets, but for what has to do with nodes.
func (in *inheritance) heirlooms() []control.Heirloom {
	hs := []control.Heirloom{{Name: lockHeirloom, File: in.lock}, {Name: controlHeirloom, File: in.socket}}
	for _, l := range in.listeners {
		hs = append(hs, control.Heirloom{Name: httpHeirloom + l.asked, File: l})
	}
	return hs
}

func (in *inheritance) close() {
	closeAll(in.listeners)
	if in.socket != nil {
		_ = in.socket.Close()
	}
	if in.from != nil {
		in.from.Close()
	}
	if in.lock != nil {
		_ = in.lock.Close()
	}
}
