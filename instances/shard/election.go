package shard

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/lead"
)

// election is this server's part in finding the leader of its shard.
func (s *Shard) election(conf *config.Config) (*lead.Elector, error) {
	session := "" // of each process its own
	if s.opts.Sole {
		session = soleSession
	}
	return lead.New(lead.Options{
		Session: session,
		Storage: s.objects, Holder: s.opts.ServerID, Election: conf.Shard.Election,
		// A leader's work has ended by then: its passes get half of the one time.
		StopTimeout: 2 * conf.Shard.Timings.ShutdownTimeout.Std(),
		Floor:       func(ctx context.Context) (uint64, error) { return s.Manager.LastTerm(ctx) },
		Now:         s.opts.Now, Logger: s.log,
	})
}

// soleSession is that of all servers of a shard that can have but one at a time.
const soleSession = "sole"

// leadership fences the manager's writes.
func (s *Shard) leadership() instances.Leadership {
	if s.elector == nil {
		return nil
	}
	return s.elector
}

func (s *Shard) elect(ctx context.Context) error {
	if err := s.elector.Run(ctx, s.lead); err != nil {
		return fmt.Errorf("election of the shard's leader: %w", err)
	}
	return nil
}

// Leader is who leads the shard as far as this server has seen; false before it has seen
// anything, and where nobody is elected.
func (s *Shard) Leader() (lead.Leader, bool) {
	if s.elector == nil {
		return lead.Leader{}, false
	}
	return s.elector.Leader()
}

// Nodes are the machines that are connected to this server, in no order.
func (s *Shard) Nodes() []hub.Node { return s.Hub.Nodes() }

// heartbeat is how often agents are to be heard of: as often as the configuration says
// that machines report, but within what agents take, and often enough that a broken
// connection is seen soon.
func heartbeat(t hub.Timing, conf *config.Config) hub.Timing {
	if t.Heartbeat <= 0 {
		t.Heartbeat = min(max(conf.Shard.Timings.HealthCheckInterval.Std(), time.Second), 10*time.Second)
	}
	return t
}
