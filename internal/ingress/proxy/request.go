package proxy

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// heads are buffers for a request's head and, when it is small, its body.
var heads = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// maxPooledHead keeps a rare huge head from staying in memory.
const maxPooledHead = 64 << 10

func putHead(b *[]byte) {
	if cap(*b) <= maxPooledHead {
		*b = (*b)[:0]
		heads.Put(b)
	}
}

// appendHead writes the request as the target gets it: the client's target and
// Host, its headers without those of the connection, and what we add. The server
// has checked that names and values hold no line breaks.
func (x *exchange) appendHead(b []byte) []byte {
	r := x.r
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, requestTarget(r)...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.Host...)
	b = append(b, "\r\n"...)

	trusted := x.p.trusted(r)
	named := connectionNamed(r.Header)
	for k, vv := range r.Header {
		if hopByHop(k) || ours(k) || (named != nil && hasName(named, k)) {
			continue
		}
		for _, v := range vv {
			b = appendHeader(b, k, v)
		}
	}
	if httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers") {
		b = append(b, "Te: trailers\r\n"...)
	}
	b = x.appendOurs(b, trusted)
	if up := upgradeOf(r.Header); up != "" {
		b = append(b, "Connection: Upgrade\r\n"...)
		b = appendHeader(b, "Upgrade", up)
	}
	b = x.body.appendFraming(b, r)
	return append(b, "\r\n"...)
}

func appendHeader(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

// requestTarget is the target as the client spelled it; of the absolute form
// only the part after the authority.
func requestTarget(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") || r.RequestURI == "*" {
		return r.RequestURI
	}
	return r.URL.RequestURI()
}

// appendOurs writes what tells the target about the client. What a trusted
// proxy said is kept; X-Forwarded-For grows by the trusted proxy's address.
func (x *exchange) appendOurs(b []byte, trusted bool) []byte {
	r := x.r
	b = append(b, "X-Forwarded-For: "...)
	if trusted {
		for _, v := range r.Header["X-Forwarded-For"] {
			b = append(b, v...)
			b = append(b, ", "...)
		}
	}
	b = append(b, clientIP(r.RemoteAddr)...)
	b = append(b, "\r\n"...)

	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	b = x.appendKept(b, trusted, "X-Forwarded-Proto", proto)
	b = x.appendKept(b, trusted, "X-Forwarded-Host", r.Host)
	if trusted {
		for _, k := range [...]string{"X-Forwarded-Port", "X-Forwarded-Server", "X-Real-Ip", "Forwarded"} {
			for _, v := range r.Header[k] {
				b = appendHeader(b, k, v)
			}
		}
	}
	if id := r.Header.Get("X-Request-Id"); trusted && id != "" {
		return appendHeader(b, "X-Request-Id", id)
	}
	b = append(b, "X-Request-Id: "...)
	b = x.p.ids.append(b)
	return append(b, "\r\n"...)
}

func (x *exchange) appendKept(b []byte, trusted bool, name, value string) []byte {
	if trusted {
		if v := x.r.Header.Get(name); v != "" {
			value = v
		}
	}
	return appendHeader(b, name, value)
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }
