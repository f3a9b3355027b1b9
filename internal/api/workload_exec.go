package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/wire/execwire"
	"github.com/berth-cloud/berth/provider"
)

type workloadExecInput struct {
	Name    string `path:"name" maxLength:"128" doc:"Name of the workload."`
	Service string `query:"service" maxLength:"128" doc:"Without it, the main service."`
	Replica int    `query:"replica" default:"-1" minimum:"-1" maximum:"10000" doc:"Index of the replica; -1: the first that is ready."`
	Upgrade string `header:"Upgrade" doc:"websocket."`
}

func (s *Server) registerWorkloadExec(r *registrar) {
	run := op(http.MethodGet, "/v1/workloads/{name}/exec", "exec-workload", "Run a command in a container of a workload")
	run.Description = "As the exec of apps: a WebSocket of the subprotocol " + execwire.Subprotocol + "."
	run.Responses = map[string]*huma.Response{"101": {Description: "The WebSocket is open; the caller says what to run."}}
	register(r, RuleAdmin, run, s.execWorkload)
}

func (s *Server) execWorkload(ctx context.Context, in *workloadExecInput) (*huma.StreamResponse, error) {
	if err := wantsWebSocket(in.Upgrade, "berth workload exec"); err != nil {
		return nil, s.asProblem(ctx, err)
	}
	if err := s.findWorkload(ctx, in.Name, in.Service); err != nil {
		return nil, err
	}
	return s.upgradeExec(ctx, func(ctx context.Context, x *execSession, start execwire.StartRequest) execwire.ExitReport {
		return s.carryOutWorkloadExec(ctx, x, in, start)
	})
}

// carryOutWorkloadExec runs the command and says how it ended.
func (s *Server) carryOutWorkloadExec(ctx context.Context, x *execSession, in *workloadExecInput, start execwire.StartRequest) execwire.ExitReport {
	log := s.log.With("workload", in.Name, "service", in.Service, "by", caller(ctx))
	log.InfoContext(ctx, "exec begins", "tty", start.TTY)
	if p := checkCommand(start.Command); p != nil {
		return execwire.ExitReport{Problem: p}
	}
	req := provider.ExecRequest{
		Command: start.Command, TTY: start.TTY, ServiceName: in.Service,
		Stdout: x.printer(ctx, execwire.Stdout), Stderr: x.printer(ctx, execwire.Stderr),
	}
	if in.Replica >= 0 {
		req.Replica = &in.Replica
	}
	if start.Stdin {
		req.Stdin = x.input(ctx)
	}
	if start.TTY {
		if start.Width > 0 && start.Height > 0 {
			req.Size = &provider.TerminalSize{Cols: start.Width, Rows: start.Height}
		}
		sizes := make(chan provider.TerminalSize)
		req.Resize = sizes
		resizing, stop := context.WithCancel(ctx)
		defer stop()
		go passSizes(resizing, x.resizes, sizes)
	}
	code, err := s.deps.Workloads.Exec(ctx, in.Name, req)
	if err != nil {
		log.InfoContext(ctx, "exec failed", "error", err)
		return execwire.ExitReport{Problem: s.workloadExecProblem(ctx, in, err)}
	}
	log.InfoContext(ctx, "exec ended", "code", code)
	return execwire.ExitReport{Code: code}
}

// passSizes puts sizes into the provider's words until ctx ends.
func passSizes(ctx context.Context, from <-chan docker.TermSize, to chan<- provider.TerminalSize) {
	for {
		select {
		case size := <-from:
			select {
			case to <- provider.TerminalSize{Cols: size.Width, Rows: size.Height}:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// workloadExecProblem words what kept a command from running.
func (s *Server) workloadExecProblem(ctx context.Context, in *workloadExecInput, err error) *wire.Problem {
	if errors.Is(err, provider.ErrNotReady) || errors.Is(err, provider.ErrConflict) {
		return notRunning(fmt.Sprintf("nothing of workload %s runs that a command could run in: %v", in.Name, err),
			fmt.Sprintf("`berth workload status %s` says why.", in.Name))
	}
	if ctx.Err() != nil {
		return busy("the command was given up: "+context.Cause(ctx).Error(), "Try again.")
	}
	return s.asProblem(ctx, err)
}
