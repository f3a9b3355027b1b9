package egress

import (
	"context"
	"net"

	ground "github.com/berth-cloud/berth/internal/egress"
)

// dialTimeout bounds the look-up and all attempts of one connection.
const dialTimeout = ground.DialTimeout

// Dialer makes connections to addresses that its policy lets through. The zero Dialer
// dials public addresses.
type Dialer struct {
	Policy Policy
	// Resolver looks names up; nil is that of the machine.
	Resolver *net.Resolver
}

// DialContext connects over TCP, within 5 s. Of the addresses of a name those that
// are refused are passed over; where none is left the error is an ErrRefused, and
// nothing was sent to any. It can be one too where others are left and do not answer:
// names change, so that it is no reason never to try again.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&ground.Dialer{Check: d.Policy.Check, Resolver: d.Resolver}).DialContext(ctx, network, address)
}
