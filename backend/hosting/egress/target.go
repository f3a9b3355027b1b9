package egress

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/backend"
)

// ErrTarget is what the error of a URL that cannot be sent to is. It is a
// backend.ErrValidation.
var ErrTarget = fmt.Errorf("%w: the URL", backend.ErrValidation)

// Bounds of a URL, in bytes.
const (
	MaxURLBytes  = 2048
	MaxHostBytes = 253
)

// ParseTarget reads a URL to send to: http or https, with a host, without a user and
// without a fragment. A host that is an address is judged by the policy at once; what
// a name resolves to is judged when it is dialled. The error is an ErrTarget, and has
// nothing of the URL but such an address.
func (p Policy) ParseTarget(text string) (*url.URL, error) {
	if len(text) > MaxURLBytes {
		return nil, fmt.Errorf("%w is longer than %d bytes", ErrTarget, MaxURLBytes)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w cannot be read", ErrTarget)
	}
	if strings.Contains(text, "#") {
		return nil, fmt.Errorf("%w has a fragment, which nobody would see: leave out what begins with #", ErrTarget)
	}
	if err := p.checkURL(u); err != nil {
		return nil, err
	}
	return u, nil
}

// checkURL is the part that holds for every request of a client too.
func (p Policy) checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w begins with neither http:// nor https://", ErrTarget)
	case u.User != nil:
		return fmt.Errorf("%w has a user in it: leave out what stands before @", ErrTarget)
	case u.Hostname() == "":
		return fmt.Errorf("%w has no host", ErrTarget)
	case !isPort(u.Port(), u.Host):
		return fmt.Errorf("%w has a port that is not from 1 to 65535", ErrTarget)
	}
	return p.checkHost(u.Hostname())
}

// isPort takes none for one, but not a colon without it.
func isPort(text, host string) bool {
	if text == "" {
		return !strings.HasSuffix(host, ":")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

func (p Policy) checkHost(host string) error {
	host = strings.TrimSuffix(host, ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		if err := p.Check(addr); err != nil {
			return fmt.Errorf("%w names a host of its own: %w", ErrTarget, err)
		}
		return nil
	}
	switch last := host[strings.LastIndexByte(host, '.')+1:]; {
	case !isName(host):
		return fmt.Errorf("%w has a host that is neither a name nor an address", ErrTarget)
	case looksLikeNumber(last):
		// Some resolvers take 127.1, 0x7f000001 and 2130706433 for addresses.
		return fmt.Errorf("%w has a host that is a number: write an address with four parts", ErrTarget)
	case !p.AllowLoopback && strings.EqualFold(last, "localhost"):
		return fmt.Errorf("%w names this machine", ErrTarget)
	}
	return nil
}

// isName: of what a name of the DNS is made, an underscore with it. Others have a form
// that begins with xn--.
func isName(host string) bool {
	if host == "" || len(host) > MaxHostBytes {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// looksLikeNumber: decimal, octal or hexadecimal. No top-level domain is one.
func looksLikeNumber(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	lower := strings.ToLower(label)
	return strings.HasPrefix(lower, "0x") && strings.Trim(lower[2:], "0123456789abcdef") == ""
}
