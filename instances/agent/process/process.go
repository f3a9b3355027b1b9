// Package process puts an agent together with this machine: `berth-node agent` is it with
// flags. What must never happen here: a decision.
package process

import (
	"context"
	"log/slog"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/node/nodehttp"
)

// Options are the process's.
type Options struct {
	Dir    string // agent.DefaultDir when empty
	Engine string // path of the engine's socket; agent.DefaultEngineSocket when empty
	Build  string
	BootID string
}

// Run is the agent of this machine until ctx is done.
func Run(ctx context.Context, log *slog.Logger, o Options) error {
	a, err := agent.New(agent.Config{
		Dir: o.Dir, EngineSocket: o.Engine, Version: o.Build, BootID: o.BootID, Log: log,
		Host: nodehttp.Handler(new(node.Local)),
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}
