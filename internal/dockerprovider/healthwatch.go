package dockerprovider

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
)

// What a health check means that says nothing itself, once a service is up.
const (
	watchInterval = 10 * time.Second
	watchRetries  = 3
)

// watches remember what the checks of containers that serve have shown. The
// planner asks until a container is ready; whether it stays so is asked here, and
// changes nothing but what Status says.
type watches struct {
	mu        sync.Mutex
	workloads map[id.ID]*vigil
}

// vigil is what is watched of one workload.
type vigil struct {
	route      int64 // version of where traffic goes, as of the last look
	containers map[string]*health
}

// health is what the checks of one run of a container have shown.
type health struct {
	started  time.Time
	due      time.Time
	failures int // in a row
	last     string
}

// unhealthy is what the last failed check found once enough have failed in a
// row, or "".
func (w *watches) unhealthy(workload id.ID, m *application.Member, declared *spec.Probe) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.of(workload).containers[m.ID]
	if h == nil || !h.started.Equal(m.Started) || h.failures < cmp.Or(declared.Failures, watchRetries) {
		return ""
	}
	return h.last
}

func (w *watches) forget(workload id.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.workloads, workload)
}

// of is what is watched of a workload. Its lock is held.
func (w *watches) of(workload id.ID) *vigil {
	v := w.workloads[workload]
	if v == nil {
		v = &vigil{}
	}
	return v
}

// quiet is the time until the next check, and whether no container can have come
// to serve since the last look and no check is due.
func (w *watches) quiet(workload id.ID, route int64, now time.Time) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.of(workload)
	if len(v.containers) == 0 || v.route != route {
		return 0, false
	}
	var next time.Duration
	for _, h := range v.containers {
		wait := h.due.Sub(now)
		if wait <= 0 {
			return 0, false
		}
		next = sooner(next, wait)
	}
	return next, true
}

// take is the check of a container if it is due; until then, how long.
func (w *watches) take(workload id.ID, m *application.Member, now time.Time, interval time.Duration) (due bool, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.workloads == nil {
		w.workloads = map[id.ID]*vigil{}
	}
	if w.workloads[workload] == nil {
		w.workloads[workload] = &vigil{containers: map[string]*health{}}
	}
	containers := w.workloads[workload].containers
	h := containers[m.ID]
	if h == nil || !h.started.Equal(m.Started) {
		// It was ready a moment ago, or it would not serve.
		h = &health{started: m.Started, due: now.Add(interval)}
		containers[m.ID] = h
	}
	if now.Before(h.due) {
		return false, h.due.Sub(now)
	}
	h.due = now.Add(interval)
	return true, interval
}

func (w *watches) note(workload id.ID, m *application.Member, ok bool, detail string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.of(workload).containers[m.ID]
	switch {
	case h == nil || !h.started.Equal(m.Started):
	case ok:
		h.failures, h.last = 0, ""
	default:
		h.failures++
		h.last = detail
	}
}

// keep forgets containers that are gone, and notes where traffic went when it was
// looked.
func (w *watches) keep(workload id.ID, ids map[string]bool, route int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.of(workload)
	v.route = route
	for container := range v.containers {
		if !ids[container] {
			delete(v.containers, container)
		}
	}
}

// checked is a container with a declared check.
type checked struct {
	m     *application.Member
	probe *spec.Probe
	port  int
}

// watched are the containers that serve and declare a health check.
func (v *viewed) watched() []checked {
	var out []checked
	for i := range v.world.Groups {
		g := &v.world.Groups[i]
		if !v.targets(g) {
			continue
		}
		probes := map[string]checked{}
		for _, s := range v.servicesOf(g) {
			if p := translate.Declared(s); p != nil {
				probes[s.Name] = checked{probe: p, port: translate.Port(s)}
			}
		}
		for j := range g.Members {
			m := &g.Members[j]
			if c, ok := probes[m.Member]; ok && runs(m) && !m.Recheck {
				c.m = m
				out = append(out, c)
			}
		}
	}
	return out
}

// watchHealth makes the checks that are due and says when the next one is; zero
// when there is none.
func (d *Driver) watchHealth(ctx context.Context, v *viewed) time.Duration {
	all := v.watched()
	ids := map[string]bool{}
	var due []checked
	var next time.Duration
	for _, c := range all {
		ids[c.m.ID] = true
		is, wait := d.watches.take(v.record.ID, c.m, d.now(), cmp.Or(c.probe.Interval, watchInterval))
		if is {
			due = append(due, c)
		}
		if next == 0 || wait < next {
			next = wait
		}
	}
	var route int64
	if v.world.Active != nil {
		route = v.world.Active.Version
	}
	d.watches.keep(v.record.ID, ids, route)
	_ = together(len(due), func(i int) error {
		c := due[i]
		ok, detail := d.check(ctx, c)
		if ctx.Err() == nil { // an interrupted check says nothing
			d.watches.note(v.record.ID, c.m, ok, detail)
		}
		return nil
	})
	return next
}

// check asks a container once.
func (d *Driver) check(ctx context.Context, c checked) (ok bool, detail string) {
	if len(c.probe.Exec) > 0 {
		return d.checkByCommand(ctx, c)
	}
	if !c.m.Address.IsValid() {
		return false, "the container has no address"
	}
	return d.opts.Prober.Probe(ctx, netip.AddrPortFrom(c.m.Address, uint16(cmp.Or(c.probe.Port, c.port))), c.probe)
}

func (d *Driver) checkByCommand(ctx context.Context, c checked) (ok bool, detail string) {
	within, cancel := context.WithTimeout(ctx, cmp.Or(c.probe.Timeout, spec.DefaultProbeTimeout))
	defer cancel()
	var out bounded
	code, err := d.rt.Exec(within, c.m.ID, docker.ExecSpec{Command: c.probe.Exec, Stdout: &out, Stderr: &out})
	name := fmt.Sprintf("command %q", strings.Join(c.probe.Exec, " "))
	switch {
	case err != nil:
		return false, fmt.Sprintf("%s could not be run: %v", name, err)
	case code != 0:
		text := strings.ToValidUTF8(out.text.String(), "�")
		return false, fmt.Sprintf("%s exited with code %d: %.500s", name, code, strings.TrimSpace(text))
	}
	return true, ""
}
