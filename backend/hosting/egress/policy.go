package egress

import (
	"net/netip"

	ground "github.com/berth-cloud/berth/internal/egress"
)

// ErrRefused is what the error of an address that may not be dialled is.
var ErrRefused = ground.ErrRefused

// Policy is which addresses may be dialled beside public ones.
type Policy struct {
	AllowLoopback bool // 127.0.0.0/8 and ::1
	// AllowPrivate is for 10/8, 172.16/12, 192.168/16, 100.64/10 and fc00::/7.
	AllowPrivate bool
}

// Check judges an address; nil lets it through, and an ErrRefused says what it is.
// An address with a zone is refused: it means something on this machine alone.
func (p Policy) Check(addr netip.Addr) error { return ground.Policy(p).Check(addr) }
