package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// DialTimeout bounds the look-up and all attempts of one connection.
const DialTimeout = 5 * time.Second

// Dialer makes connections to addresses that its judge lets through. The zero Dialer
// dials public addresses.
type Dialer struct {
	// Check judges an address, with an ErrRefused; nil is that of the zero Policy.
	Check func(netip.Addr) error
	// Resolver looks names up; nil is that of the machine.
	Resolver *net.Resolver
}

// DialContext connects over TCP, within 5 s. Of the addresses of a name those that
// are refused are passed over; where none is left the error is an ErrRefused, and
// nothing was sent to any. It can be one too where others are left and do not answer:
// names change, so that it is no reason never to try again.
//
// The judge stands between the look-up and the connection, where the kernel is told
// the address: what it lets through is what is dialled.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("%w: the network %q is not TCP", ErrRefused, network)
	}
	dialer := net.Dialer{
		Timeout:   DialTimeout,
		KeepAlive: -1, // no connection lives long
		Resolver:  d.Resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return d.checkAddress(address)
		},
	}
	return dialer.DialContext(ctx, network, address)
}

// checkAddress judges an address with a port, as the kernel gets it.
func (d *Dialer) checkAddress(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: it cannot be read", ErrRefused)
	}
	check := d.Check
	if check == nil {
		check = Policy{}.Check
	}
	return check(to.Addr())
}
