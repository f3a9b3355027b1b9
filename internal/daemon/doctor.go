package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

const doctorTimeout = 3 * time.Second

// doctor looks at what the control plane stands on.
func (d *daemon) doctor(ctx context.Context) []wire.Check {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	return append(d.checkEngine(ctx), d.checkPlane(), d.checkStore(ctx))
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

func (d *daemon) checkPlane() wire.Check {
	h, trouble := d.super.state()
	c := wire.Check{Name: "data plane", State: wire.CheckOK}
	if trouble != "" || h.PID == 0 {
		c.State, c.Message = wire.CheckFailed, trouble
		if c.Message == "" {
			c.Message = "it has not answered yet"
		}
		c.Fix = "free the address it wants or start berthd server with another --ingress-http; its log is " + d.cfg.ingressDir() + "/ingress.log"
		return c
	}
	c.Message = fmt.Sprintf("pid %d serves %s since %s", h.PID, strings.Join(h.Listeners, ", "), h.Started.Format(time.RFC3339))
	return c
}

func (d *daemon) checkStore(ctx context.Context) wire.Check {
	s, err := d.store.Routes(ctx)
	if err != nil {
		return wire.Check{Name: "store", State: wire.CheckFailed, Message: err.Error(), Fix: "check the disk that holds " + d.cfg.DataDir}
	}
	return wire.Check{Name: "store", State: wire.CheckOK,
		Message: fmt.Sprintf("%s, services that serve: %d, route version %d", d.cfg.DataDir, len(s.Active), s.Version)}
}
