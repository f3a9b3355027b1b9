package proxy

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// hopByHop says whether a header belongs to one connection only, or is framing
// that each side writes for itself.
func hopByHop(canonical string) bool {
	switch canonical {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Proxy-Authorization",
		"Content-Length", "Expect", "Http2-Settings":
		return true
	}
	return false
}

// ours says whether a request header tells the target about the client, which
// only a trusted proxy or we ourselves may do. A name with underscores counts
// as well: CGI-style servers cannot tell them from dashes.
func ours(name string) bool {
	switch name {
	case "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port",
		"X-Forwarded-Server", "X-Real-Ip", "X-Request-Id", "Forwarded":
		return true
	}
	if strings.IndexByte(name, '_') < 0 {
		return false
	}
	return ours(http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")))
}

// connectionNamed are the header names that a Connection header lists, in
// canonical form; usually none.
func connectionNamed(h http.Header) []string {
	var names []string
	for _, v := range h["Connection"] {
		if strings.EqualFold(v, "keep-alive") || strings.EqualFold(v, "close") {
			continue
		}
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names
}

func hasName(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// upgradeOf is the protocol a head asks to switch to, "" for none. h2c is none:
// it would smuggle requests past the routes.
func upgradeOf(h http.Header) string {
	if len(h["Upgrade"]) == 0 || !httpguts.HeaderValuesContainsToken(h["Connection"], "upgrade") {
		return ""
	}
	up := h.Get("Upgrade")
	if strings.EqualFold(up, "h2c") {
		return ""
	}
	return up
}

func tooManyHeaders(h http.Header, most int) bool {
	n := len(h)
	for _, vv := range h {
		n += len(vv) - 1
	}
	return n > most
}

// clientIP is the address part of a request's RemoteAddr.
func clientIP(remote string) string {
	if i := strings.LastIndexByte(remote, ':'); i > 0 && remote[0] != '[' {
		return remote[:i]
	}
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return remote
}

// trusted says whether the request comes from a trusted proxy.
func (p *Proxy) trusted(r *http.Request) bool {
	if len(p.cfg.TrustedProxies) == 0 {
		return false
	}
	a, err := netip.ParseAddr(clientIP(r.RemoteAddr))
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, prefix := range p.cfg.TrustedProxies {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}
