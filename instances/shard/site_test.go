package shard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/shard"
)

// site is a world whose machines run their agents by themselves, and whose shard looks
// after its groups.
type site struct {
	*world
	mu     sync.Mutex
	agents map[string]func() // that end them
	tokens []string          // that machines were made with
}

func newSite(t testing.TB) *site {
	w := newWorld(t)
	w.timings = `"timings": {"health_check_interval": "1s", "retry_min": "50ms", "retry_max": "1s"}, "election": {"interval": "200ms", "timeout": "1s"}`
	w.beat = 300 * time.Millisecond
	return &site{world: w, agents: map[string]func(){}}
}

// open opens the cloud as a provider whose machines boot.
func (s *site) open(ctx context.Context, o infra.Options) (infra.Provider, error) {
	p, err := s.cloud.Open(ctx, o)
	return booting{p, s}, err
}

// lead starts a server, and waits until it leads.
func (s *site) lead(name string, change func(*shard.Options)) (sh *shard.Shard, stop func()) {
	s.Helper()
	sh, stop = s.serveWith(s.open, func(o *shard.Options) {
		o.ServerID = name
		if change != nil {
			change(o)
		}
	})
	s.until(name+" leads", func() bool {
		l, ok := sh.Leader()
		_, err := sh.Groups(s.Context())
		return ok && l.Self && err == nil
	})
	return sh, stop
}

func (s *site) ready(sh *shard.Shard) (ids []string) {
	all, err := sh.Machines(s.Context(), false)
	if err != nil {
		return nil
	}
	for i := range all {
		if all[i].Status == shard.StatusReady {
			ids = append(ids, all[i].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// settled waits until the group web of acme has as many machines, all of them ready, and
// nothing else is there.
func (s *site) settled(sh *shard.Shard, size int) (ids []string) {
	s.Helper()
	s.until(fmt.Sprintf("%d machines are ready and nothing else is there", size), func() bool {
		ids = s.ready(sh)
		return len(ids) == size && len(s.alive()) == size
	})
	return ids
}

func (s *site) alive() []string {
	var ids []string
	for _, m := range s.cloud.Alive() {
		ids = append(ids, m.InstanceID)
	}
	slices.Sort(ids)
	return ids
}

// booting starts the agent of a machine that is made, and ends it with the machine.
type booting struct {
	infra.Provider
	site *site
}

func (b booting) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	made, err := b.Provider.CreateInstance(ctx, req)
	if err != nil {
		return made, err
	}
	b.site.mu.Lock()
	defer b.site.mu.Unlock()
	if b.site.agents[req.InstanceID] != nil {
		return made, nil
	}
	dir := b.site.TempDir()
	if err := b.site.bootstrap(dir, req.InstanceID, req.CACertPEM, req.UserData.Reveal()); err != nil {
		return nil, err
	}
	b.site.agents[req.InstanceID] = b.site.run(dir)
	b.site.tokens = append(b.site.tokens, string(req.UserData.Reveal()))
	return made, nil
}

func (b booting) DeleteInstance(ctx context.Context, instanceID, providerID string) error {
	b.site.silence(instanceID)
	return b.Provider.DeleteInstance(ctx, instanceID, providerID)
}

// silence ends the agent of a machine.
func (s *site) silence(instanceID string) {
	s.mu.Lock()
	stop := s.agents[instanceID]
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func web(size int) string {
	return fmt.Sprintf(`"acme": {"web": {"template": "small", "size": %d}}`, size)
}

// looked waits until a whole pass over everything was made since.
func (s *site) looked(sh *shard.Shard) {
	s.Helper()
	now := s.now()
	s.until("every group was looked at", func() bool { return sh.LookedAtSince(s.Context(), now) })
}

// made is how many machines were made since the beginning.
func (s *site) made() (n int) {
	for _, e := range s.cloud.History() {
		if e.What == "created" {
			n++
		}
	}
	return n
}
