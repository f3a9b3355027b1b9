package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

// progress prints the steps of an attempt as they come: one line for each step
// that ended, and on a terminal a last line with what is going on now, which
// is overwritten in place.
type progress struct {
	app  *app
	out  io.Writer
	live bool // the last line is kept up

	mu      sync.Mutex
	began   time.Time         // of the attempt, by the daemon's clock
	current map[string]string // service -> phase going on
	order   []string          // services in order of appearance
	started map[string]bool   // services of which a container was started
	names   int               // width of the longest name of a service
	shown   bool              // a live line stands on the screen
	ticker  *time.Ticker
	done    chan struct{}
	wg      sync.WaitGroup
}

const liveEvery = 200 * time.Millisecond

// slowPhases are announced when they begin where there is no live line.
var slowPhases = map[string]bool{"pull": true, "probe": true, "drain": true}

// after is what goes on once a step has passed, for the live line.
var after = map[string]string{
	"pull": "pulling", "resolve": "creating", "create": "starting", "start": "waiting until it is ready",
	"probe": "waiting until it is ready", "cutover": "switching over",
}

func newProgress(a *app, at wire.Attempt) *progress {
	p := &progress{app: a, out: a.env.Stdout, began: at.CreatedAt, live: a.env.StdoutTTY && !a.json(), current: map[string]string{}, started: map[string]bool{}, done: make(chan struct{})}
	if a.json() {
		p.out = io.Discard
	}
	for _, s := range at.Services {
		p.set(s.Service, "waiting")
		p.names = max(p.names, len(s.Service))
	}
	fmt.Fprintf(p.out, "attempt %d: %s of %s\n", at.ID, at.Kind, at.App)
	if p.live {
		p.ticker = time.NewTicker(liveEvery)
		p.wg.Go(p.refresh)
	}
	return p
}

func (p *progress) refresh() {
	defer p.ticker.Stop()
	for {
		select {
		case <-p.ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		case <-p.done:
			return
		}
	}
}

// stop takes the live line away.
func (p *progress) stop() {
	close(p.done)
	p.wg.Wait()
	p.clear()
}

func (p *progress) trace(e wire.TraceEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set("berthd", "")
	if e.Phase == "start" && e.Status != "failed" {
		p.started[e.Service] = true
	}
	if e.Status == "started" {
		p.set(e.Service, e.Phase)
		if p.live || !slowPhases[e.Phase] {
			return
		}
	} else if e.Status == "failed" {
		p.set(e.Service, "")
	} else {
		p.set(e.Service, after[e.Phase])
	}
	a := p.app
	paint := func(s string) string { return s }
	phase := e.Phase
	switch {
	case e.Status == "failed" || e.Phase == "failed":
		paint = a.out.red
	case e.Status == "started":
		phase += " …"
	case e.Phase == "done":
		paint = a.out.green
	}
	at := fmt.Sprintf("%6.1fs", e.Time.Sub(p.began).Seconds())
	service, padded := fmt.Sprintf("%-*s", p.names, e.Service), fmt.Sprintf("%-9s", phase)
	if e.Message == "" {
		p.line("%s  %s %s\n", a.out.dim(at), a.out.bold(service), paint(phase))
		return
	}
	message, _, _ := strings.Cut(printable(e.Message), "\n")
	p.line("%s  %s %s %s\n", a.out.dim(at), a.out.bold(service), paint(padded), message)
}

func (p *progress) lost(error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current["berthd"] == "" {
		p.line("%s\n", p.app.out.yellow("the daemon is away; the deploy waits for it and so do we"))
		p.set("berthd", "away")
	}
}

// set notes what a service is doing; "" ends it.
func (p *progress) set(service, phase string) {
	if _, known := p.current[service]; !known {
		p.order = append(p.order, service)
	}
	p.current[service] = phase
}

// line prints above the live line.
func (p *progress) line(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.out, format, args...)
	p.draw()
}

// draw shows the live line, cut to the terminal's width.
func (p *progress) draw() {
	if !p.live {
		return
	}
	text := ""
	for _, service := range p.order {
		if phase := p.current[service]; phase != "" {
			text += "  " + service + ": " + phase + " …"
		}
	}
	if text == "" {
		p.clear()
		return
	}
	at := p.app.env.Now().Sub(p.began).Seconds()
	text = fmt.Sprintf("%6.1fs%s", max(at, 0), text)
	fmt.Fprintf(p.out, "\r\x1b[K%s", p.app.out.dim(shorten(text, p.app.env.width()-1)))
	p.shown = true
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}
