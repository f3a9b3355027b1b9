package hosting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// proc is a process: everything it does to its surroundings goes through it, until it
// is killed.
type proc struct {
	w    *world
	dead atomic.Bool
}

var errKilled = fmt.Errorf("%w: as the test wants", provider.ErrUnavailable)

// ask is before a call without an effect.
func (p *proc) ask() error {
	if p.dead.Load() {
		return errKilled
	}
	return nil
}

// effect makes a call that changes something, with a moment before and after it.
func (p *proc) effect(what string, f func() error) error {
	if err := p.moment("before " + what); err != nil {
		return err
	}
	err := f()
	if fault := p.moment("after " + what); fault != nil {
		return fault
	}
	return err
}

func (p *proc) moment(what string) error {
	if err := p.ask(); err != nil {
		return err
	}
	p.w.mu.Lock()
	p.w.moments++
	n, hook := p.w.moments, p.w.hook
	p.w.mu.Unlock()
	if hook == nil {
		return nil
	}
	err, dies := hook(n, what)
	if dies {
		p.dead.Store(true)
	}
	return err
}

// onMoments begins to count, and has hook told.
func (w *world) onMoments(hook func(n int, what string) (error, bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moments, w.hook = 0, hook
}

// revive opens the hosting anew where its process was killed.
func (w *world) revive() {
	if w.cuts { // a process goes with its provider that is cut off
		if st, err := w.mem.HealthCheck(context.Background()); err != nil || !st.Healthy {
			w.proc.dead.Store(true)
		}
	}
	if w.proc.dead.Load() {
		w.open()
	}
}

// traced is the store of the leases; what is written goes into the past.
type traced struct {
	*provider.MemoryStore
	*proc
}

func (s traced) Get(ctx context.Context, key string) (provider.Record, error) {
	if err := s.ask(); err != nil {
		return provider.Record{}, err
	}
	if s.w.blind {
		return provider.Record{}, errKilled
	}
	return s.MemoryStore.Get(ctx, key)
}

func (s traced) List(ctx context.Context, prefix string) ([]string, error) {
	if err := s.ask(); err != nil {
		return nil, err
	}
	return s.MemoryStore.List(ctx, prefix)
}

func (s traced) Put(ctx context.Context, key string, value []byte, prior provider.Version) (v provider.Version, err error) {
	err = s.effect("put "+key, func() error {
		if v, err = s.MemoryStore.Put(ctx, key, value, prior); err == nil {
			s.w.past.put(key, value)
		}
		return err
	})
	return v, err
}

func (s traced) Delete(ctx context.Context, key string, prior provider.Version) error {
	return s.effect("delete "+key, func() error {
		err := s.MemoryStore.Delete(ctx, key, prior)
		if err == nil {
			s.w.past.delete(key)
		}
		return err
	})
}

// lane is the outbox.
type lane struct {
	*postbox
	*proc
}

func (l lane) Add(ctx context.Context, op, lease, url string, p backend.CallbackPayload) error {
	if l.w.full != nil {
		return l.w.full
	}
	return l.effect("add "+op, func() error { return l.postbox.Add(ctx, op, lease, url, p) })
}

func (l lane) Step(ctx context.Context, lease string) (time.Duration, error) {
	if err := l.ask(); err != nil {
		return 0, err
	}
	return l.postbox.Step(ctx, lease)
}

func (l lane) Pending(ctx context.Context) ([]string, error) {
	if err := l.ask(); err != nil {
		return nil, err
	}
	return l.postbox.Pending(ctx)
}

// mortal is the provider; its workloads may be said to have failed.
type mortal struct {
	*memory.Provider
	*proc
}

func (m mortal) change(ctx context.Context, verb string, instance id.ID, f func() error) error {
	return m.effect(verb, func() error {
		if ctx.Err() == nil {
			m.w.mu.Lock()
			delete(m.w.dead, instance)
			m.w.mu.Unlock()
		}
		return f()
	})
}

// mounts notes what is wrong with a mount: each volume has to be, by what the store says
// then, the lease's that the workload is of.
func (m mortal) mounts(instance id.ID, volumes []provider.VolumeSpec) {
	for _, v := range volumes {
		for _, volume := range v.IDs {
			if owner, state, _ := m.w.ownerOf(volume); state != "held" || !slices.Contains(m.w.Workloads(owner), instance) {
				m.w.past.blame(fmt.Sprintf("volume %s of lease %q, which is %q, is mounted by another", volume, owner, state))
			}
		}
	}
}

// routed notes a workload that is removed while requests are sent to it.
func (m mortal) routed(ctx context.Context, instance id.ID) {
	st, err := m.Provider.Status(ctx, instance)
	if err != nil {
		return
	}
	for _, e := range st.Endpoints {
		u, err := url.Parse(e.URL)
		if err != nil {
			continue
		}
		if at, err := netip.ParseAddr(u.Hostname()); err == nil && at.Is4() && !at.IsLoopback() && m.w.plane.leadsTo(at) {
			m.w.past.blame(fmt.Sprintf("workload %s is removed, and requests are sent to %s", instance, at))
		}
	}
}

// spills reports whether a lease gives up what an operation made.
func (w *world) spills(lease, op string) bool {
	rec, _ := w.store.Get(context.Background(), "leases/"+lease)
	return strings.Contains(string(rec.Value), fmt.Sprintf(`"spill":%q`, op))
}

// ownerOf is whose the store says that a volume is, and which operation made it.
func (w *world) ownerOf(volume string) (owner, state, op string) {
	keys, _ := w.store.List(context.Background(), "volumes/")
	for _, key := range keys {
		rec, _ := w.store.Get(context.Background(), key)
		var s struct {
			Owner string `json:"owner"`
			State string `json:"state"`
			Slots []struct {
				ID string `json:"id"`
				Op string `json:"op"`
			} `json:"slots"`
		}
		if err := json.Unmarshal(rec.Value, &s); err != nil {
			w.t.Error(err)
		}
		for _, slot := range s.Slots {
			if strings.HasPrefix(volume, slot.ID+"-") {
				return s.Owner, s.State, slot.Op
			}
		}
	}
	return "", "nobody's", ""
}

// hasVolumes reports whether the store has volumes of a lease.
func (w *world) hasVolumes(lease string) bool {
	keys, _ := w.store.List(context.Background(), "volumes/")
	return slices.ContainsFunc(keys, func(key string) bool {
		rec, _ := w.store.Get(context.Background(), key)
		return strings.Contains(string(rec.Value), fmt.Sprintf(`"owner":%q`, lease)) && strings.Contains(string(rec.Value), `"slots":[`)
	})
}

// RemoveKeptVolume notes a volume that is removed while it is retained, or that serves a
// lease.
func (m mortal) RemoveKeptVolume(ctx context.Context, tenant, volume string) error {
	return m.effect("remove volume", func() error {
		if m.w.stuck != nil {
			return m.w.stuck
		}
		owner, state, op := m.w.ownerOf(volume)
		made := state == "held" && (!m.w.past.served(owner) || m.w.spills(owner, op)) // by what failed
		if state != "reaping" && !made {
			m.w.past.blame("volume " + volume + " is removed, and is " + state)
		}
		return m.Provider.RemoveKeptVolume(ctx, tenant, volume)
	})
}

func (m mortal) KeptVolumeUsage(ctx context.Context, tenant string, volumes []string) (map[string]int64, error) {
	if m.w.usage != nil {
		return m.w.usage(volumes)
	}
	return m.Provider.KeptVolumeUsage(ctx, tenant, volumes)
}

func (m mortal) Provision(ctx context.Context, req provider.ProvisionRequest) (res *provider.ProvisionResult, err error) {
	m.mounts(req.InstanceID, req.Services[0].Volumes)
	err = m.change(ctx, "provision", req.InstanceID, func() error { res, err = m.Provider.Provision(ctx, req); return err })
	return res, err
}

func (m mortal) Deploy(ctx context.Context, req provider.DeployRequest) (res *provider.DeployResult, err error) {
	m.mounts(req.InstanceID, req.Services[0].Volumes)
	err = m.change(ctx, "deploy", req.InstanceID, func() error { res, err = m.Provider.Deploy(ctx, req); return err })
	return res, err
}

func (m mortal) Restart(ctx context.Context, instance id.ID) error {
	return m.change(ctx, "restart", instance, func() error { return m.Provider.Restart(ctx, instance) })
}

func (m mortal) Rollback(ctx context.Context, instance, release id.ID) error {
	return m.change(ctx, "rollback", instance, func() error { return m.Provider.Rollback(ctx, instance, release) })
}

func (m mortal) Deprovision(ctx context.Context, instance id.ID) error {
	m.routed(ctx, instance)
	return m.change(ctx, "deprovision", instance, func() error {
		if m.w.idle > 0 {
			m.w.idle--
			return nil
		}
		return m.Provider.Deprovision(ctx, instance)
	})
}

func (m mortal) Step(ctx context.Context, instance id.ID) (time.Duration, error) {
	if err := m.ask(); err != nil {
		return 0, err
	}
	return m.Provider.Step(ctx, instance)
}

func (m mortal) Status(ctx context.Context, instance id.ID) (*provider.InstanceStatus, error) {
	if err := m.ask(); err != nil {
		return nil, err
	}
	if m.w.down {
		return nil, errKilled
	}
	if m.w.hangs != nil {
		select {
		case <-m.w.hangs:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	st, err := m.Provider.Status(ctx, instance)
	if err == nil && (m.w.isDead(instance) || m.w.slanders > 0) {
		m.w.slanders = max(m.w.slanders-1, 0)
		st.State, st.Reason, st.Ready = provider.StateFailed, provider.ReasonExited, false
	}
	return st, err
}

func (m mortal) Logs(ctx context.Context, instance id.ID, opts provider.LogOptions) (io.ReadCloser, error) {
	return m.Provider.Logs(ctx, instance, opts)
}

func (w *world) isDead(instance id.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead[instance]
}

// die has the workloads of a lease fail by themselves.
func (w *world) die(lease string) {
	all := w.Workloads(lease)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, instance := range all {
		w.dead[instance] = true
	}
}

// forgetAtProvider removes the workloads of a lease behind everybody's back.
func (w *world) forgetAtProvider(lease string) {
	for _, instance := range w.Workloads(lease) {
		var err error
		for range 3 { // a fault of the test may strike this
			ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
			err = w.provider().Deprovision(ctx, instance)
			cancel()
			if err == nil {
				break
			}
		}
		if err != nil {
			w.t.Error(err)
		}
	}
}
