package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

const (
	maxDomainBytes = 253
	maxPrefixBytes = 255
)

var domainLabel = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// NormalizeDomain lower-cases a host name that requests may come for, or says
// why it is none.
func NormalizeDomain(s string) (string, error) {
	host := strings.ToLower(s)
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return "", yamlfile.Advise(yamlfile.Quote(s)+" is an address, not a domain", "write the host alone: "+yamlfile.QuoteBare(host))
	}
	if before, _, ok := strings.Cut(host, "/"); ok {
		return "", yamlfile.Advise(yamlfile.Quote(s)+" has a path", "write the host "+yamlfile.QuoteBare(before)+" here and the path in the key path")
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return "", yamlfile.Advise(yamlfile.Quote(s)+" is an IP address, not a domain", "write a host name that resolves to it")
	}
	if before, _, ok := strings.Cut(host, ":"); ok {
		return "", yamlfile.Advise(yamlfile.Quote(s)+" has a port", "write "+yamlfile.QuoteBare(before)+"; Berth listens on the ports of the host")
	}
	switch {
	case host == "":
		return "", yamlfile.Advise("the domain is empty", "write a host name, for example shop.example.com")
	case strings.HasPrefix(host, "*"):
		return "", yamlfile.Advise("wildcard domains are not available yet", "name each host")
	case strings.HasSuffix(host, "."):
		return "", yamlfile.Advise(yamlfile.Quote(s)+" ends in a dot", "write "+yamlfile.QuoteBare(strings.TrimRight(host, ".")))
	case len(host) > maxDomainBytes:
		return "", yamlfile.Advise(fmt.Sprintf("the domain has %d characters", len(host)), fmt.Sprintf("the most is %d", maxDomainBytes))
	case strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e }):
		return "", yamlfile.Advise(yamlfile.Quote(s)+" has letters beyond ASCII", "write it in its xn-- form")
	}
	for label := range strings.SplitSeq(host, ".") {
		if !domainLabel.MatchString(label) {
			return "", yamlfile.Advise(yamlfile.Quote(s)+" is not a domain",
				"write names of letters, digits and inner dashes, 1 to 63 long, with dots between")
		}
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return "", yamlfile.Advise(yamlfile.Quote(s)+" ends in a number", "a domain ends in a name, for example shop.example.com")
	}
	return host, nil
}

var prefixForm = regexp.MustCompile(`^/[A-Za-z0-9/._~!$&'()*+,;=:@-]*$`)

// NormalizePrefix brings the path prefix of a route into the one form that is
// kept: no slash at its end, and "" for all paths.
func NormalizePrefix(s string) (string, error) {
	switch {
	case !strings.HasPrefix(s, "/"):
		return "", yamlfile.Advise(yamlfile.Quote(s)+" does not begin with a slash", "write "+yamlfile.QuoteBare("/"+s))
	case len(s) > maxPrefixBytes:
		return "", yamlfile.Advise(fmt.Sprintf("the path has %d characters", len(s)), fmt.Sprintf("the most is %d", maxPrefixBytes))
	case !prefixForm.MatchString(s):
		return "", yamlfile.Advise(yamlfile.Quote(s)+" is not a path prefix", "write plain path characters: no query, no %, no spaces")
	}
	prefix := strings.TrimSuffix(s, "/")
	if prefix == "" {
		return "", nil
	}
	for segment := range strings.SplitSeq(prefix[1:], "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", yamlfile.Advise(yamlfile.Quote(s)+" has an empty or a dot segment", "write the path that clients ask for")
		}
	}
	return prefix, nil
}
