package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/internal/wire"
)

// Machines is what the API asks about machines; a shard.Shard is one. Nothing in it waits
// for a machine: what is asked is kept, and the leader of the shard does it.
type Machines interface {
	Groups(ctx context.Context) ([]shard.Group, error)
	Machines(ctx context.Context, gone bool) ([]shard.Machine, error)
	Machine(ctx context.Context, instanceID string) (*shard.Detail, error)
	// Find is the id of the one machine whose id begins with a text.
	Find(ctx context.Context, text string) (string, error)

	Create(ctx context.Context, req shard.CreateRequest) (tenant, instanceID string, err error)
	Delete(ctx context.Context, instanceID string, force bool, by string) error
	Rotate(ctx context.Context, instanceID, by string) error
	RotateGroup(ctx context.Context, tenant, group, by string) ([]string, error)
}

var _ Machines = (*shard.Shard)(nil)

type (
	machineInput struct {
		ID string `path:"id" maxLength:"64" doc:"Id of the machine, or as much of its beginning as no other one has."`
	}
	machineListInput struct {
		All bool `query:"all" doc:"Also those that were deleted lately."`
	}
	machineDeleteInput struct {
		ID    string `path:"id" maxLength:"64" doc:"Id of the machine, or as much of its beginning as no other one has."`
		Force bool   `query:"force" doc:"Delete it at once, whatever it holds and runs."`
	}
	machineGroupInput struct {
		Group  string `path:"group" maxLength:"32" doc:"Name of the group."`
		Tenant string `query:"tenant" maxLength:"32" doc:"Not needed when one tenant alone has a group of that name."`
	}
	machineCreateInput    struct{ Body wire.MachineCreateRequest }
	machineListOutput     struct{ Body wire.MachineList }
	machineOutput         struct{ Body wire.MachineDetail }
	machineGroupsOutput   struct{ Body wire.MachineGroupList }
	machineAcceptedOutput struct{ Body wire.MachineAsked }
)

func (s *Server) registerMachines(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/machine-groups", "list-machine-groups", "The groups of machines, and how they are"),
		func(ctx context.Context, _ *struct{}) (*machineGroupsOutput, error) {
			groups, err := askMachines(ctx, s, func(m Machines) ([]shard.Group, error) { return m.Groups(ctx) })
			if err != nil {
				return nil, err
			}
			return &machineGroupsOutput{wire.MachineGroupList{Groups: each(groups, machineGroup)}}, nil
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/machines", "list-machines", "The machines there are"),
		func(ctx context.Context, in *machineListInput) (*machineListOutput, error) {
			all, err := askMachines(ctx, s, func(m Machines) ([]shard.Machine, error) { return m.Machines(ctx, in.All) })
			if err != nil {
				return nil, err
			}
			// Hosts that joined are nodes, and nobody made them.
			all = slices.DeleteFunc(all, func(m shard.Machine) bool { return m.Group == instances.JoinedGroup })
			return &machineListOutput{wire.MachineList{Machines: each(all, machine)}}, nil
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/machines/{id}", "get-machine", "Everything known about a machine"),
		func(ctx context.Context, in *machineInput) (*machineOutput, error) {
			d, err := onMachine(ctx, s, in.ID, func(m Machines, id string) (*shard.Detail, error) { return m.Machine(ctx, id) })
			if err != nil {
				return nil, err
			}
			return &machineOutput{machineDetail(d)}, nil
		})
	s.registerMachineVerbs(r)
}

func (s *Server) registerMachineVerbs(r *registrar) {
	accepted := func(o string, method, path, summary, more string) (out huma.Operation) {
		out = op(method, path, o, summary)
		out.DefaultStatus = http.StatusAccepted
		out.Description = "It is kept until it is done, by whichever server leads; the machine says what becomes of it. " + more
		return out
	}
	register(r, RuleAdmin, accepted("create-machine", http.MethodPost, "/v1/machines", "Ask for a machine of a group", "The answer has the id that the machine will have."), s.createMachine)
	register(r, RuleAdmin, accepted("delete-machine", http.MethodDelete, "/v1/machines/{id}", "Ask for the end of a machine", "It is drained first; one that holds what would be lost is kept, unless force is set."), s.deleteMachine)
	register(r, RuleAdmin, accepted("rotate-machine", http.MethodPost, "/v1/machines/{id}/rotate", "Ask for the replacement of a machine", "Another one is there before it goes."), s.rotateMachine)
	register(r, RuleAdmin, accepted("rotate-machine-group", http.MethodPost, "/v1/machine-groups/{group}/rotate", "Ask for the replacement of every machine of a group", "They are replaced one after another."), s.rotateMachineGroup)
}

func (s *Server) createMachine(ctx context.Context, in *machineCreateInput) (*machineAcceptedOutput, error) {
	out := wire.MachineAsked{Asked: "create", Group: in.Body.Group}
	id, err := askMachines(ctx, s, func(m Machines) (id string, err error) {
		out.Tenant, id, err = m.Create(ctx, shard.CreateRequest{
			Tenant: in.Body.Tenant, Group: in.Body.Group, Vars: in.Body.Vars, OnDemand: in.Body.OnDemand, By: caller(ctx),
		})
		return id, err
	})
	out.IDs = []string{id}
	return s.machineAsked(ctx, out, err)
}

func (s *Server) deleteMachine(ctx context.Context, in *machineDeleteInput) (*machineAcceptedOutput, error) {
	id, err := onMachine(ctx, s, in.ID, func(m Machines, id string) (string, error) {
		return id, m.Delete(ctx, id, in.Force, caller(ctx))
	})
	return s.machineAsked(ctx, wire.MachineAsked{Asked: "delete", IDs: []string{id}}, err)
}

func (s *Server) rotateMachine(ctx context.Context, in *machineInput) (*machineAcceptedOutput, error) {
	id, err := onMachine(ctx, s, in.ID, func(m Machines, id string) (string, error) {
		return id, m.Rotate(ctx, id, caller(ctx))
	})
	return s.machineAsked(ctx, wire.MachineAsked{Asked: "rotate", IDs: []string{id}}, err)
}

func (s *Server) rotateMachineGroup(ctx context.Context, in *machineGroupInput) (*machineAcceptedOutput, error) {
	ids, err := askMachines(ctx, s, func(m Machines) ([]string, error) {
		return m.RotateGroup(ctx, in.Tenant, in.Group, caller(ctx))
	})
	if ids == nil {
		ids = []string{}
	}
	return s.machineAsked(ctx, wire.MachineAsked{Asked: "rotate", Tenant: in.Tenant, Group: in.Group, IDs: ids}, err)
}

func (s *Server) machineAsked(ctx context.Context, out wire.MachineAsked, err error) (*machineAcceptedOutput, error) {
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "asked of machines", "what", out.Asked, "machines", out.IDs, "by", caller(ctx))
	return &machineAcceptedOutput{out}, nil
}

// askMachines asks, and turns what fails into a problem document.
func askMachines[T any](ctx context.Context, s *Server, ask func(Machines) (T, error)) (T, error) {
	var none T
	if s.deps.Machines == nil {
		return none, busy("this daemon looks after no machines", "Start it with --machines FILE; docs/guides/machines.md says what is in the file.")
	}
	out, err := ask(s.deps.Machines)
	if err != nil {
		if p := s.machineProblem(ctx, err); p != nil {
			return none, p
		}
		return none, s.asProblem(ctx, err)
	}
	return out, nil
}

// onMachine asks about the machine whose id begins with a text.
func onMachine[T any](ctx context.Context, s *Server, text string, ask func(m Machines, id string) (T, error)) (T, error) {
	return askMachines(ctx, s, func(m Machines) (T, error) {
		id, err := m.Find(ctx, text)
		if err != nil {
			var none T
			return none, err
		}
		return ask(m, id)
	})
}
