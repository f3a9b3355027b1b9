package agent

import (
	"context"
	"errors"
	"sync"

	"github.com/berth-cloud/berth/instances/wire"
)

// Agent is one machine's.
type Agent struct {
	cfg    Config
	boot   *Bootstrap
	id     *identity
	apps   *apps
	host   *hostServer // nil: the host is not served
	doubts chan struct{}
	spread float64 // by how much this machine renews later than others, 0 to 1
}

// New checks a configuration. Run does the rest.
func New(cfg Config) (*Agent, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	return &Agent{cfg: cfg, apps: newApps(cfg.EngineSocket, cfg.Now), spread: cfg.Jitter(), doubts: make(chan struct{}, 1)}, nil
}

// Run is the agent until ctx is done, which is no error. It ends by itself only when its
// folder is of no use: ErrLocked, or an error that names the file. It is called once.
func (a *Agent) Run(ctx context.Context) error {
	f, err := openFolder(a.cfg.Dir)
	if err != nil {
		return err
	}
	defer f.close()
	text, err := f.read(fileBootstrap)
	if err != nil {
		return err
	}
	if a.boot, err = parseBootstrap(text); err != nil {
		return err
	}
	f.closeToOthers(a.cfg.Log)
	if a.id, err = openIdentity(f, a.boot.InstanceID, a.cfg.Now()); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	if a.cfg.Host != nil {
		a.host = newHostServer(a.cfg.Host)
		wg.Go(a.host.serve)
		defer a.host.close()
	}
	defer a.apps.close()
	links := []*link{a.newLink(wire.RoleServer, a.boot.AgentAddr)}
	if a.boot.IngressAddr != "" {
		links = append(links, a.newLink(wire.RoleIngress, a.boot.IngressAddr))
	}
	wg.Go(func() { a.keepIdentity(ctx) })
	for _, l := range links {
		wg.Go(func() { l.run(ctx) })
	}
	if a.cfg.Notices != nil {
		// The data plane has no use for it.
		wg.Go(func() { a.watchNotices(ctx, links[0]) })
	}
	<-ctx.Done()
	return nil
}

// watchNotices passes on what is found, at once.
func (a *Agent) watchNotices(ctx context.Context, to *link) {
	b := a.newBackoff()
	for ctx.Err() == nil {
		err := a.cfg.Notices.Watch(ctx, func(n wire.Notice) {
			a.cfg.Log.Warn("this machine is told of its end", "kind", n.Kind, "at", n.At)
			to.notice(n)
		})
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("it ended by itself")
		}
		a.cfg.Log.Warn("what the provider says about this machine cannot be watched", "error", err)
		sleep(ctx, b.pause(false), nil)
	}
}
