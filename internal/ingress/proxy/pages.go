package proxy

import (
	"context"
	"errors"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page is an answer of the data plane itself.
type page struct {
	status int
	title  string
	text   string
	retry  int // seconds for Retry-After; 0: none
}

var (
	pageNoRoute     = page{404, "Not found", "No app is served at this address.", 0}
	pageNoChallenge = page{404, "Not found", "No certificate challenge is pending for this token.", 0}
	pageMethod      = page{405, "Method not allowed", "This server is no forward proxy.", 0}
	pageSlow        = page{408, "Request timeout", "The request's body did not arrive in time.", 0}
	pageBody        = page{413, "Content too large", "The request's body is larger than this app accepts.", 0}
	pageHeaders     = page{431, "Too many header fields", "The request has too many header fields.", 0}
	pageBadGateway  = page{502, "Bad gateway", "The app did not give a usable answer.", 0}
	pageUnavailable = page{503, "Not available", "The app is not ready at the moment. Try again shortly.", 2}
	pageTimeout     = page{504, "Gateway timeout", "The app did not answer in time.", 0}
)

// fail answers a request that no target answered, and counts it when the
// answer is our own 5xx.
func (x *exchange) fail(err error) {
	if x.gone || errors.Is(err, errClientBody) || errors.Is(err, context.Canceled) {
		x.p.log.Debug("client closed the request", "status", 499, "request", x.describe())
		x.abort()
	}
	pg := x.pageFor(err)
	if pg.status >= 500 && x.rt != nil {
		s := x.rt.service
		s.failed.Add(1)
		x.p.changes.now()
		x.p.quiet.warn(s.name, "service", s.name, "status", pg.status, "request", x.describe(), "error", err)
	}
	x.p.page(x.w, x.r, pg)
}

func (x *exchange) pageFor(err error) page {
	var up *upstreamError
	switch {
	case errors.Is(err, errNoRoute):
		return pageNoRoute
	case errors.Is(err, errBodyTooLarge):
		return pageBody
	case errors.Is(err, errClientSlow):
		return pageSlow
	case errors.Is(err, errTooMany), errors.Is(err, errHoldPassed), x.ended.Load():
		return pageUnavailable
	case errors.As(err, &up) && up.timeout:
		return pageTimeout
	default:
		return pageBadGateway
	}
}

// page writes an answer of our own: HTML for a browser, a line of text for
// everything else. No part of it comes from the request.
func (p *Proxy) page(w http.ResponseWriter, r *http.Request, pg page) {
	h := w.Header()
	clear(h)
	p.boundUnread(w, r, pg)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if pg.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(pg.retry))
	}
	body := pg.title + ": " + pg.text + "\n"
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		body = pg.html()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(pg.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(body))
	}
}

// abort ends the client's connection, whatever it was told so far. The server
// would wait for the rest of the request's body without end.
func (x *exchange) abort() {
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Unix(1, 0))
	panic(http.ErrAbortHandler)
}

// boundUnread keeps the server from waiting without end for the rest of a body
// that nobody wants: it reads some of it, to use the connection again.
func (p *Proxy) boundUnread(w http.ResponseWriter, r *http.Request, pg page) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return
	}
	until := p.cfg.Now().Add(p.cfg.ClientStall)
	if pg.status == http.StatusRequestTimeout {
		until = time.Unix(1, 0) // it has had its time
		w.Header().Set("Connection", "close")
	}
	_ = http.NewResponseController(w).SetReadDeadline(until)
}

func (pg page) html() string {
	return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + html.EscapeString(pg.title) + `</title>
<style>
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-items: center;
  font: 1rem/1.5 system-ui, sans-serif; background: Canvas; color: CanvasText }
main { max-width: 28rem; padding: 2rem }
p.status { margin: 0; font-size: 3.5rem; font-weight: 700; line-height: 1; opacity: .35 }
h1 { margin: .5rem 0; font-size: 1.5rem }
</style>
<main>
<p class="status">` + strconv.Itoa(pg.status) + `</p>
<h1>` + html.EscapeString(pg.title) + `</h1>
<p>` + html.EscapeString(pg.text) + `</p>
</main>
</html>
`
}
