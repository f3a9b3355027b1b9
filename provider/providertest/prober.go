package providertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// probePause is the time between two questions of a prober, and far below what a
// program of the suite takes to listen.
const probePause = 15 * time.Millisecond

// prober asks an instance again and again who it is.
type prober struct {
	e        *env
	instance id.ID
	service  string
	cancel   context.CancelFunc
	done     chan struct{}
	first    chan struct{} // closed when somebody has answered

	// The rest belongs to the goroutine until done is closed.
	asked    int
	gaps     []string
	versions map[string]int
	// mixed counts statuses whose endpoints answered with more than one version.
	mixed int
	// fewest is the lowest number of endpoints that a status gave.
	fewest int
}

// probe asks the endpoints of a service from now on. What they are it reads
// each time, as a client does that follows them.
func (e *env) probe(instance id.ID, service string) *prober {
	ctx, cancel := context.WithCancel(e.ctx)
	p := &prober{
		e: e, instance: instance, service: service, cancel: cancel, done: make(chan struct{}), first: make(chan struct{}),
		versions: map[string]int{}, fewest: 1 << 30,
	}
	e.Cleanup(func() { cancel(); <-p.done })
	go p.loop(ctx)
	if !e.Wait(p.answered) {
		e.Fatalf("%s does not answer", service)
	}
	return p
}

// answered reports whether somebody has answered, or the questions have ended.
func (p *prober) answered() bool {
	select {
	case <-p.first:
		return true
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *prober) loop(ctx context.Context) {
	defer close(p.done)
	pause := time.NewTicker(probePause)
	defer pause.Stop()
	for {
		p.once(ctx)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// once asks every endpoint. When none answers it looks whether that is because
// they have just changed.
func (p *prober) once(ctx context.Context) {
	var said string
	for range 3 {
		st, err := p.e.Provider.Status(ctx, p.instance)
		if err != nil {
			said = "status: " + err.Error()
			continue
		}
		all := endpoints(st, p.service, -1)
		answers := 0
		seen := map[string]bool{}
		for _, ep := range all {
			version, err := p.e.ask(ctx, ep, "env:VERSION")
			if err != nil {
				said = fmt.Sprintf("%s: %v", ep.URL, err)
				continue
			}
			answers++
			seen[strings.TrimSpace(version)] = true
		}
		if ctx.Err() != nil {
			return
		}
		if answers == 0 {
			if len(all) == 0 {
				said = "no endpoint; the instance is " + describe(st)
			}
			continue
		}
		p.note(len(all), seen)
		return
	}
	if ctx.Err() == nil {
		p.gaps = append(p.gaps, said)
	}
}

func (p *prober) note(given int, seen map[string]bool) {
	if p.asked++; p.asked == 1 {
		close(p.first)
	}
	p.fewest = min(p.fewest, given)
	for v := range seen {
		p.versions[v]++
	}
	if len(seen) > 1 {
		p.mixed++
	}
}

// stop ends the questions.
func (p *prober) stop() {
	p.cancel()
	<-p.done
}

// noGap ends the questions and fails when one found nobody.
func (p *prober) noGap(during string) {
	p.e.Helper()
	p.stop()
	if p.asked == 0 {
		p.e.Fatalf("nothing was asked during %s", during)
	}
	if len(p.gaps) > 0 {
		p.e.Errorf("during %s nothing answered %d of %d times, first: %s", during, len(p.gaps), p.asked+len(p.gaps), p.gaps[0])
	}
}

// rolled deploys while the service is probed.
func (e *env) rolled(req provider.DeployRequest, service string) (*provider.InstanceStatus, *prober) {
	e.Helper()
	p := e.probe(req.InstanceID, service)
	e.deploy(req)
	st := e.ready(req.InstanceID)
	p.noGap("a deploy")
	return st, p
}
