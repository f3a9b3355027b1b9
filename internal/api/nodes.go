package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire"
)

// Nodes are the machines that apps run on. Its errors are ErrNoSuchNode, ErrNodeTaken,
// ErrNodeRefused and ErrNodesUnavailable, whose texts callers read, or others, whose
// texts they do not.
type Nodes interface {
	// List is every node, this machine first.
	List(ctx context.Context) ([]wire.Node, error)
	// SetCordon says whether something new may be placed on a node.
	SetCordon(ctx context.Context, id string, on bool) error
	// Drain begins to empty a node, and says what moves and what stays. A zero time is
	// no bound.
	Drain(ctx context.Context, id string, by time.Time) (wire.DrainPlan, error)
	// Undrain ends that; what has moved does not come back by it.
	Undrain(ctx context.Context, id string) error
	// Doctor looks at each hop to a node, in their order, within the context's deadline.
	Doctor(ctx context.Context, id string) ([]wire.NodeCheck, error)
	// Join makes a token by which one host joins.
	Join(ctx context.Context, req wire.JoinRequest) (wire.JoinToken, error)
	// Remove has a joined host be a node no more.
	Remove(ctx context.Context, id string) error
}

// doctorTimeoutNode bounds the look at one node.
const doctorTimeoutNode = 25 * time.Second

type (
	nodeInput struct {
		Node string `path:"node" minLength:"1" maxLength:"128" doc:"Id or name of the node, or as much of its id as no other has."`
	}
	nodeDrainInput struct {
		Node string `path:"node" minLength:"1" maxLength:"128" doc:"As above."`
		Body wire.DrainRequest
	}
	nodeJoinInput    struct{ Body wire.JoinRequest }
	nodeListOutput   struct{ Body wire.NodeList }
	nodeOutput       struct{ Body wire.Node }
	nodeDrainOutput  struct{ Body wire.DrainPlan }
	nodeDoctorOutput struct{ Body wire.NodeDoctor }
	nodeJoinOutput   struct{ Body wire.JoinToken }
)

func (s *Server) registerNodes(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/nodes", "list-nodes", "The machines that apps run on"), s.listNodes)
	register(r, RuleAdmin, op(http.MethodGet, "/v1/nodes/{node}", "get-node", "One node, with the apps on it"), s.getNode)
	register(r, RuleAdmin, op(http.MethodPost, "/v1/nodes/{node}/cordon", "cordon-node", "Place nothing new on a node"),
		s.onNode("cordoned", func(ctx context.Context, id string) error { return s.deps.Nodes.SetCordon(ctx, id, true) }))
	register(r, RuleAdmin, op(http.MethodPost, "/v1/nodes/{node}/uncordon", "uncordon-node", "Let a node be used again"),
		s.onNode("uncordoned", func(ctx context.Context, id string) error { return s.deps.Nodes.SetCordon(ctx, id, false) }))
	drain := op(http.MethodPost, "/v1/nodes/{node}/drain", "drain-node", "Begin to empty a node")
	drain.Description = "Answers once it is written down, with what is moved and what has to stay. The node says how far it is."
	register(r, RuleAdmin, drain, s.drainNode)
	register(r, RuleAdmin, op(http.MethodPost, "/v1/nodes/{node}/undrain", "undrain-node", "End the emptying of a node"),
		s.onNode("undrained", func(ctx context.Context, id string) error { return s.deps.Nodes.Undrain(ctx, id) }))
	register(r, RuleAdmin, op(http.MethodGet, "/v1/nodes/{node}/doctor", "check-node", "Look at every hop between here and a container on a node"), s.checkNode)
	join := op(http.MethodPost, "/v1/nodes", "join-node", "Make a token by which a host joins")
	join.Description = "The token is in the answer and nowhere else. The node is listed from now on, and offline until its host has joined."
	register(r, RuleAdmin, join, s.joinNode)
	register(r, RuleAdmin, op(http.MethodDelete, "/v1/nodes/{node}", "remove-node", "Have a joined host be a node no more"), s.removeNode)
}

func (s *Server) listNodes(ctx context.Context, _ *struct{}) (*nodeListOutput, error) {
	all, err := s.nodes(ctx)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &nodeListOutput{wire.NodeList{Nodes: all}}, nil
}

func (s *Server) getNode(ctx context.Context, in *nodeInput) (*nodeOutput, error) {
	n, err := s.node(ctx, in.Node)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &nodeOutput{n}, nil
}

// onNode does something to a node that is there, and answers with how it is then.
func (s *Server) onNode(did string, do func(context.Context, string) error) func(context.Context, *nodeInput) (*nodeOutput, error) {
	return func(ctx context.Context, in *nodeInput) (*nodeOutput, error) {
		n, err := s.node(ctx, in.Node)
		if err == nil {
			err = do(ctx, n.ID)
		}
		if err == nil {
			s.log.InfoContext(ctx, "node changed", "node", n.ID, "what", did, "by", caller(ctx))
			n, err = s.node(ctx, n.ID)
		}
		if err != nil {
			return nil, s.asProblem(ctx, err)
		}
		return &nodeOutput{n}, nil
	}
}

func (s *Server) drainNode(ctx context.Context, in *nodeDrainInput) (*nodeDrainOutput, error) {
	var by time.Time
	if in.Body.DeadlineSeconds > 0 {
		by = s.deps.Now().Add(time.Duration(in.Body.DeadlineSeconds) * time.Second)
	}
	n, err := s.node(ctx, in.Node)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	plan, err := s.deps.Nodes.Drain(ctx, n.ID, by)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	s.log.InfoContext(ctx, "node is being drained", "node", n.ID, "by_when", by, "moves", len(plan.Moves), "stays", len(plan.Stays), "by", caller(ctx))
	plan.Moves, plan.Stays = some(plan.Moves), some(plan.Stays)
	return &nodeDrainOutput{plan}, nil
}

func (s *Server) checkNode(ctx context.Context, in *nodeInput) (*nodeDoctorOutput, error) {
	n, err := s.node(ctx, in.Node)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeoutNode)
	defer cancel()
	checks, err := s.deps.Nodes.Doctor(ctx, n.ID)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &nodeDoctorOutput{wire.NodeDoctor{Node: n.ID, Checks: some(checks)}}, nil
}

func (s *Server) joinNode(ctx context.Context, in *nodeJoinInput) (*nodeJoinOutput, error) {
	out, err := s.join(ctx, in.Body)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return &nodeJoinOutput{out}, nil
}

func (s *Server) join(ctx context.Context, req wire.JoinRequest) (wire.JoinToken, error) {
	if err := spec.CheckName(req.Name); err != nil {
		return wire.JoinToken{}, invalidRequest(err.Error(), "Give the node another name.")
	}
	if req.Name == wire.LocalNode {
		return wire.JoinToken{}, nodeTaken("the name local is that of the machine of the control plane")
	}
	for key, value := range req.Labels {
		if slices.Contains([]string{"tenant", "group", "template"}, key) {
			return wire.JoinToken{}, invalidRequest(fmt.Sprintf("label %q: machines have this one by what they are made of", key), "Give it another key.")
		}
		if err := spec.CheckNodeLabel(key, value); err != nil {
			return wire.JoinToken{}, invalidRequest(fmt.Sprintf("label %q: %v", key, err), "Write labels as KEY=VALUE.")
		}
	}
	all, err := s.nodes(ctx)
	if err != nil {
		return wire.JoinToken{}, err
	}
	if slices.ContainsFunc(all, func(n wire.Node) bool { return n.ID == req.Name || n.Name == req.Name }) {
		return wire.JoinToken{}, nodeTaken(fmt.Sprintf("there is a node %s already", req.Name))
	}
	out, err := s.deps.Nodes.Join(ctx, req)
	if err != nil {
		return wire.JoinToken{}, err
	}
	s.log.InfoContext(ctx, "a host may join", "node", out.ID, "name", out.Name, "until", out.ExpiresAt, "by", caller(ctx))
	return out, nil
}

func (s *Server) removeNode(ctx context.Context, in *nodeInput) (*nodeOutput, error) {
	n, err := s.node(ctx, in.Node)
	switch {
	case err != nil:
	case n.ID != in.Node && n.Name != in.Node:
		err = invalidRequest(fmt.Sprintf("%q is not the whole id of a node", in.Node), fmt.Sprintf("Write %s, if that is the one.", n.ID))
	case n.Kind == wire.NodeLocal:
		err = fmt.Errorf("%w: this machine cannot be removed", ErrNodeRefused)
	case n.Kind == wire.NodeMachine:
		err = fmt.Errorf("%w: %s is a machine of group %s, which `berth machine delete` deletes", ErrNodeRefused, n.ID, n.Group)
	default:
		err = s.deps.Nodes.Remove(ctx, n.ID)
	}
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	s.log.InfoContext(ctx, "node removed", "node", n.ID, "name", n.Name, "by", caller(ctx))
	return &nodeOutput{n}, nil
}

// nodes is every node, with lists that are never null.
func (s *Server) nodes(ctx context.Context) ([]wire.Node, error) {
	all, err := s.deps.Nodes.List(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Apps = some(all[i].Apps)
	}
	return some(all), nil
}

// minPrefix is how much of an id names a node at least.
const minPrefix = 4

// node finds the one node that a text names.
func (s *Server) node(ctx context.Context, text string) (wire.Node, error) {
	all, err := s.nodes(ctx)
	if err != nil {
		return wire.Node{}, err
	}
	var begin []wire.Node
	for _, n := range all {
		if n.ID == text || n.Name == text {
			return n, nil
		}
		if len(text) >= minPrefix && strings.HasPrefix(n.ID, text) {
			begin = append(begin, n)
		}
	}
	switch len(begin) {
	case 0:
		return wire.Node{}, noSuchNode(text)
	case 1:
		return begin[0], nil
	}
	return wire.Node{}, invalidRequest(fmt.Sprintf("the ids of %d nodes begin with %q", len(begin), text), "Write more of it; `berth node list` lists them.")
}

// some is a list that JSON shows as one.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
