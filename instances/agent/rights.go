package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/berth-cloud/berth/instances/wire"
)

// errRight: this end may not ask for that.
var errRight = errors.New("this end may not dial that")

// target reaches what a dial is for, when the end that asks has the right to it.
func (l *link) target(ctx context.Context, d *wire.Dial) (net.Conn, *wire.Dialed) {
	ctx, cancel := context.WithTimeout(ctx, l.agent.cfg.Timing.Target)
	defer cancel()
	network, address, err := l.allowed(ctx, d)
	if errors.Is(err, errRight) {
		l.agent.cfg.Log.Warn("a dial was refused", "end", string(l.role), "kind", string(d.Kind), "address", d.Address)
		return nil, &wire.Dialed{ID: d.ID, Code: wire.DialRefused, Error: err.Error()}
	}
	if err != nil {
		return nil, unreachable(d, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, unreachable(d, err)
	}
	return conn, nil
}

// allowed is the one place where rights are decided. A role or a kind that it does not
// know has none.
func (l *link) allowed(ctx context.Context, d *wire.Dial) (network, address string, err error) {
	switch {
	case d.Kind == wire.KindEngine && l.role == wire.RoleServer:
		return "unix", l.agent.cfg.EngineSocket, nil
	case d.Kind == wire.KindAddress:
		// A literal address and port: nothing here asks a name server.
		ap, err := netip.ParseAddrPort(d.Address)
		if err != nil || ap.Port() == 0 {
			return "", "", errRight
		}
		to := netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		switch l.role {
		case wire.RoleServer:
			return "tcp", to.String(), nil
		case wire.RoleIngress:
			if err := l.agent.apps.allow(ctx, to.Addr()); err != nil {
				return "", "", err
			}
			return "tcp", to.String(), nil
		}
	}
	return "", "", errRight
}

// never says that an address cannot be a container's, whatever an engine says.
func never(a netip.Addr) bool {
	return !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast()
}
