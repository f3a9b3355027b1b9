package fqdn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of names, in bytes.
const (
	MaxLabel = 63
	MaxName  = 253
	// MaxWildcard leaves a whole label before a wildcard domain.
	MaxWildcard = MaxName - MaxLabel - 1
)

const (
	instanceDigits = 7 // of the hash that tells instances apart
	serviceDigits  = 8 // of the hash that stands for what is cut off a service's name
)

// Subdomain is the label of an instance below the wildcard domain: the service's name
// with a hash of lease, service and index, between which the index stands where the
// service has more than one instance. A name for which the label is too short is cut,
// and ends in a hash of the whole of it. A service of no name leaves its part out.
//
// The service's name has to be a label itself, and index is from 0.
func Subdomain(lease, service string, index, quantity int) string {
	hash := digits(fmt.Sprintf("%s/%s/%d", lease, service, index), instanceDigits)
	if quantity > 1 {
		hash = strconv.Itoa(index) + "-" + hash
	}
	if service == "" {
		return hash
	}
	return fit(service, MaxLabel-1-len(hash)) + "-" + hash
}

// Host is the whole name of an instance. wildcard is in the form of Wildcard.
func Host(wildcard, lease, service string, index, quantity int) string {
	return Subdomain(lease, service, index, quantity) + "." + wildcard
}

// fit cuts a service's name to a length that is longer than a hash.
func fit(service string, most int) string {
	if len(service) <= most {
		return service
	}
	return service[:most-1-serviceDigits] + "-" + digits(service, serviceDigits)
}

// digits are the first hexadecimal ones of a text's SHA-256.
func digits(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:n]
}

// Below reports whether a name is a domain itself or below it; both are in normal form.
func Below(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}
