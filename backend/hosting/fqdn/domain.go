package fqdn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrInvalid is a name that cannot be what it is meant for. Its words are fit for the
// tenant.
var ErrInvalid = errors.New("not a domain that can be used")

// Custom is the normal form of a tenant's domain: lower case, without a dot at its
// end. One that is no host name of two labels or more, is an address, has letters
// beyond ASCII (they have to be written in their xn-- form), or is the wildcard domain
// or below it, is ErrInvalid. wildcard is in the form of Wildcard; "" is none.
func Custom(domain, wildcard string) (string, error) {
	name, err := normal(domain, MaxName)
	if err != nil {
		return "", err
	}
	if wildcard != "" && Below(name, wildcard) {
		return "", fmt.Errorf("%w: %s belongs to the backend itself", ErrInvalid, quote(name))
	}
	return name, nil
}

// Wildcard is the normal form of the domain below which a backend names its leases:
// that of Custom, and short enough for a label before it. It begins with no dot or
// asterisk.
func Wildcard(domain string) (string, error) {
	if strings.HasSuffix(domain, ".") {
		return "", fmt.Errorf("%w: %s ends with a dot", ErrInvalid, quote(domain))
	}
	return normal(domain, MaxWildcard)
}

func normal(domain string, most int) (string, error) {
	name := strings.TrimSuffix(domain, ".")
	if name == "" || len(name) > most {
		return "", fmt.Errorf("%w: %s is not of 1 to %d characters", ErrInvalid, quote(domain), most)
	}
	for i := range len(name) {
		if name[i] > 0x7e {
			return "", fmt.Errorf("%w: %s has letters beyond ASCII; write it in its xn-- form", ErrInvalid, quote(domain))
		}
	}
	name = strings.ToLower(name)
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		return "", fmt.Errorf("%w: %s is not fully qualified", ErrInvalid, quote(domain))
	}
	for _, label := range labels {
		if !isLabel(label) {
			return "", fmt.Errorf("%w: %s has the part %s, which is not 1 to %d letters, digits and hyphens with no hyphen at either end",
				ErrInvalid, quote(domain), quote(label), MaxLabel)
		}
	}
	if digitsAlone(labels[len(labels)-1]) {
		return "", fmt.Errorf("%w: %s is an address or ends like one", ErrInvalid, quote(domain))
	}
	return name, nil
}

func isLabel(label string) bool {
	if label == "" || len(label) > MaxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return true
}

// digitsAlone also knows the hexadecimal form in which addresses can be written.
func digitsAlone(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// quote bounds what a message repeats.
func quote(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strconv.QuoteToASCII(text)
}
