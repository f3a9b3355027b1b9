package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/wire"
)

const doctorTimeout = 3 * time.Second

// doctor looks at what the control plane stands on. The looks are apart, so that
// one that takes all its time makes no other fail.
func (d *daemon) doctor(ctx context.Context) []wire.Check {
	return together(ctx, doctorTimeout, d.checkEngine, d.super.check, d.checkRoutes, d.checkStore, d.vault.check, d.checkProviders, d.machines.check)
}

// together runs looks at the same time, each for the limit at most, and gives
// what they found in their order.
func together(ctx context.Context, limit time.Duration, looks ...func(context.Context) []wire.Check) []wire.Check {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := make([][]wire.Check, len(looks))
	var wg sync.WaitGroup
	for i, look := range looks {
		wg.Go(func() { found[i] = look(ctx) })
	}
	wg.Wait()
	return slices.Concat(found...)
}

func (d *daemon) checkEngine(ctx context.Context) []wire.Check {
	info, err := d.runtime.Info(ctx)
	if err != nil {
		return []wire.Check{{Name: "docker engine", State: wire.CheckFailed, Message: err.Error(),
			Fix: "start the engine (systemctl start docker), or name another one with berthd server --docker"}}
	}
	engine := wire.Check{Name: "docker engine", State: wire.CheckOK,
		Message: fmt.Sprintf("version %s, API %s, %s/%s", info.Version, info.APIVersion, info.OS, info.Architecture)}
	live := wire.Check{Name: "live restore", State: wire.CheckOK, Message: "containers survive a restart of the engine"}
	if !info.LiveRestore {
		live.State = wire.CheckWarning
		live.Message = "a restart of the engine stops every container"
		live.Fix = `set "live-restore": true in /etc/docker/daemon.json and reload the engine`
	}
	return []wire.Check{engine, live}
}

// check asks the data plane: one that has stopped answering keeps its connections
// open, so what was known of it says nothing.
func (s *supervisor) check(ctx context.Context) []wire.Check {
	h, trouble := s.state()
	c := wire.Check{Name: "data plane", State: wire.CheckOK}
	if trouble != "" || h.PID == 0 {
		c.State, c.Message = wire.CheckFailed, trouble
		if c.Message == "" {
			c.Message = "it has not answered yet"
		}
		c.Fix = "free the address it wants or start berthd server with another --ingress-http; its log is " + s.cfg.ingressDir() + "/ingress.log"
		return []wire.Check{c}
	}
	if now, err := s.ask(ctx); err == nil {
		h = now
	} else {
		c.State = wire.CheckFailed
		c.Message = fmt.Sprintf("pid %d was there and does not answer now: %v", h.PID, err)
		c.Fix = fmt.Sprintf("if it stays so, look whether process %d is stopped or starved; killed, it is started again; its log is %s/ingress.log",
			h.PID, s.cfg.ingressDir())
		return []wire.Check{c}
	}
	c.Message = fmt.Sprintf("pid %d serves %s since %s", h.PID, strings.Join(h.Listeners, ", "), h.Started.Format(time.RFC3339))
	return []wire.Check{c}
}

func (d *daemon) checkRoutes(context.Context) []wire.Check {
	last, _ := d.engine.Results(ingress.Key)
	h, _ := d.super.state()
	return routesCheck(last.Conditions, h.PID, d.cfg.ingressDir())
}

// routesCheck speaks up when a data plane that answers does not take its routes.
func routesCheck(conditions []reconcile.Condition, pid int, dir string) []wire.Check {
	for _, c := range conditions {
		fix := ""
		switch c.Reason {
		case ingress.ReasonRefused:
			fix = fmt.Sprintf("look at the disk of %s; if that folder was removed or changed under the data plane, end process %d: another is started and gets all routes", dir, pid)
		case ingress.ReasonOlderStore:
			fix = fmt.Sprintf("bring the newest data directory back; or, to give the data plane's routes up, stop berthd, end process %d, remove %s/tables, and start berthd", pid, dir)
		default:
			continue
		}
		return []wire.Check{{Name: "routes", State: wire.CheckFailed, Message: "it goes on with the routes it has: " + c.Message, Fix: fix}}
	}
	return nil
}

func (d *daemon) checkStore(ctx context.Context) []wire.Check {
	s, err := d.store.Routes(ctx)
	if err != nil {
		return []wire.Check{{Name: "store", State: wire.CheckFailed, Message: err.Error(), Fix: "check the disk that holds " + d.cfg.DataDir}}
	}
	c := wire.Check{Name: "store", State: wire.CheckOK,
		Message: fmt.Sprintf("%s, services that serve: %d, route version %d", d.cfg.DataDir, len(s.Active), s.Version)}
	var fs unix.Statfs_t
	if err := unix.Statfs(d.cfg.DataDir, &fs); err == nil {
		judgeSpace(&c, fs.Bavail*uint64(fs.Bsize))
	}
	return []wire.Check{c}
}

const (
	littleSpace = 256 << 20 // worth a word
	noSpace     = 8 << 20   // the next write may fail
)

// judgeSpace says what the free bytes of the store's disk mean.
func judgeSpace(c *wire.Check, free uint64) {
	switch {
	case free < noSpace:
		c.State = wire.CheckFailed
	case free < littleSpace:
		c.State = wire.CheckWarning
	default:
		return
	}
	c.Message += fmt.Sprintf("; %d MiB are left on its disk", free>>20)
	c.Fix = "free some space there: on a full disk what serves goes on, and nothing can be changed"
}
