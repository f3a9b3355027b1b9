package egress

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrRefused is what the error of an address that may not be dialled is.
var ErrRefused = errors.New("the address may not be dialled")

// Policy is which addresses may be dialled beside public ones.
type Policy struct {
	AllowLoopback bool // 127.0.0.0/8 and ::1
	// AllowPrivate is for 10/8, 172.16/12, 192.168/16, 100.64/10 and fc00::/7.
	AllowPrivate bool
}

// Check judges an address; nil lets it through, and an ErrRefused says what it is.
// An address with a zone is refused: it means something on this machine alone.
func (p Policy) Check(addr netip.Addr) error {
	k := classify(addr)
	switch {
	case k == public, k == loopback && p.AllowLoopback, k == private && p.AllowPrivate:
		return nil
	case k == invalid:
		return fmt.Errorf("%w: it is none", ErrRefused)
	}
	return fmt.Errorf("%w: %s is %s", ErrRefused, addr, k)
}

// class is what an address is, in words.
type class string

const (
	public      class = "a public address"
	invalid     class = "no address"
	loopback    class = "a loopback address"
	private     class = "a private address"
	linkLocal   class = "a link-local address"
	zoned       class = "an address with a zone"
	multicast   class = "a multicast address"
	unspecified class = "an unspecified address"
	metadata    class = "an address for a cloud's metadata"
	reserved    class = "a reserved address"
	embedded    class = "an IPv6 form of an IPv4 address that is not public"
)

func classify(addr netip.Addr) class {
	if !addr.IsValid() {
		return invalid
	}
	if addr.Zone() != "" {
		return zoned
	}
	// A mapped address is dialled as the IPv4 one that it is.
	addr = addr.Unmap()
	for _, m := range metadataAddresses {
		if addr == m {
			return metadata
		}
	}
	if addr.Is4() {
		return lookUp(ranges4, addr, public)
	}
	if inner, ok := embeddedIPv4(addr); ok {
		// No translator may lead to others (RFC 3056 section 2, RFC 6052 section 3.1).
		if classify(inner) != public {
			return embedded
		}
		return public
	}
	// What is not global unicast by now has no business outside of a site.
	return lookUp(ranges6, addr, reserved)
}

func lookUp(ranges []addressRange, addr netip.Addr, otherwise class) class {
	for _, r := range ranges {
		if r.prefix.Contains(addr) {
			return r.class
		}
	}
	return otherwise
}
