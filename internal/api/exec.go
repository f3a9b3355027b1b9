package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/wire/execwire"
)

// engineTimeout bounds one look at the engine.
const engineTimeout = 15 * time.Second

type execInput struct {
	App     string `path:"app" maxLength:"128" doc:"Name of the app."`
	Service string `path:"service" maxLength:"128" doc:"Short name of the service."`
	Replica int    `query:"replica" default:"-1" minimum:"-1" maximum:"10000" doc:"Index of the replica; -1: the first that serves."`
	Member  string `query:"member" maxLength:"128" doc:"Name of a sidecar; without it, the main container."`
	Upgrade string `header:"Upgrade" doc:"websocket."`
}

func (s *Server) registerExec(r *registrar) {
	run := op(http.MethodGet, "/v1/apps/{app}/services/{service}/exec", "exec", "Run a command in a container of the release that serves")
	run.Description = "Opens a WebSocket of the subprotocol " + execwire.Subprotocol + ", whose frames the source package internal/wire/execwire describes. What the request names is looked for before it is upgraded, and a refusal is a problem document as everywhere."
	run.Responses = map[string]*huma.Response{"101": {Description: "The WebSocket is open; the caller says what to run."}}
	register(r, RuleAdmin, run, s.exec)
}

func (s *Server) exec(ctx context.Context, in *execInput) (*huma.StreamResponse, error) {
	target, err := s.execTarget(ctx, in)
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	return s.upgradeExec(ctx, func(ctx context.Context, x *execSession, start execwire.StartRequest) execwire.ExitReport {
		return s.carryOutExec(ctx, x, target, start)
	})
}

// execRun runs the command of a session and says how it ended.
type execRun func(ctx context.Context, x *execSession, start execwire.StartRequest) execwire.ExitReport

// upgradeExec answers with a WebSocket over which one command runs.
func (s *Server) upgradeExec(ctx context.Context, run execRun) (*huma.StreamResponse, error) {
	select {
	case s.execs <- struct{}{}:
	default:
		return nil, s.asProblem(ctx, busy("too many commands run in containers at once", "End some, or try again in a while."))
	}
	return &huma.StreamResponse{Body: func(hctx huma.Context) {
		defer func() { <-s.execs }()
		r, w := humago.Unwrap(hctx)
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{execwire.Subprotocol}})
		if err != nil {
			s.log.DebugContext(r.Context(), "an exec was not upgraded", "error", err)
			return // Accept has answered
		}
		conn.SetReadLimit(execwire.MaxMessage)
		// The request's context says nothing about a connection that is no
		// longer its own.
		s.runExec(context.WithoutCancel(r.Context()), conn, run)
	}}, nil
}

// execTarget finds the container that the request means.
func (s *Server) execTarget(ctx context.Context, in *execInput) (wire.Container, error) {
	var none wire.Container
	if s.deps.Engine == nil {
		return none, noEngine()
	}
	if err := wantsWebSocket(in.Upgrade, "berth exec"); err != nil {
		return none, err
	}
	st, err := s.readApp(ctx, in.App)
	if err != nil {
		return none, err
	}
	if st.app == nil {
		return none, noSuchApp(in.App)
	}
	svc, ok := st.services[in.Service]
	if !ok {
		return none, noSuchService(in.App, in.Service)
	}
	member := cmp.Or(in.Member, wire.MainMember)
	if member == in.Service {
		member = wire.MainMember
	}
	containers, err := s.listContainers(ctx, in.App)
	if err != nil {
		return none, err
	}
	return chooseContainer(svc, containers, in.Replica, member)
}

// wantsWebSocket refuses a caller that does not open a WebSocket.
func wantsWebSocket(upgrade, command string) error {
	if strings.EqualFold(upgrade, "websocket") {
		return nil
	}
	return invalidRequest("this route speaks WebSocket alone", "Use `"+command+"`, or open a WebSocket of the subprotocol "+execwire.Subprotocol+".")
}

// chooseContainer finds a member of a replica of the release that serves: of the
// replica named, or with -1 of the first one in which it runs.
func chooseContainer(svc serviceState, containers []docker.ContainerState, replica int, member string) (wire.Container, error) {
	app, short := svc.desired.AppID, svc.desired.Spec.Name
	look := fmt.Sprintf("`berth ps %s` shows its containers.", app)
	if svc.active == nil || len(svc.active.Targets) == 0 {
		return wire.Container{}, notRunning(fmt.Sprintf("nothing of %s/%s serves now", app, short),
			fmt.Sprintf("`berth status %s` says why.", app))
	}
	if replica >= svc.active.Replicas && replica >= svc.desired.Replicas {
		return wire.Container{}, notFound(fmt.Sprintf("%s/%s has no replica %d", app, short, replica),
			fmt.Sprintf("Its replicas are counted from 0; %s", look))
	}
	found := false
	for _, t := range svc.active.Targets {
		if replica >= 0 && t.Replica != replica {
			continue
		}
		for _, c := range membersBeside(containers, t) {
			if memberName(&c) != member {
				continue
			}
			found = true
			if c.Running() {
				return wireContainer(&c), nil
			}
		}
	}
	if !found && member != wire.MainMember && !hasMember(svc, member) {
		return wire.Container{}, notFound(fmt.Sprintf("%s/%s has no member %q", app, short, member), look)
	}
	what := fmt.Sprintf("%s/%s", app, short)
	if replica >= 0 {
		what = fmt.Sprintf("replica %d of %s", replica, what)
	}
	return wire.Container{}, notRunning(fmt.Sprintf("member %s of %s does not run now", member, what), look)
}

// membersBeside are the containers of the replica that a target belongs to, the
// target's own among them.
func membersBeside(containers []docker.ContainerState, t store.ActiveTarget) []docker.ContainerState {
	i := slices.IndexFunc(containers, func(c docker.ContainerState) bool { return c.Name == t.Container })
	if i < 0 {
		return nil
	}
	of := containers[i].Labels
	var out []docker.ContainerState
	for _, c := range containers {
		if c.Labels[docker.LabelService] == of[docker.LabelService] && c.Labels[docker.LabelRelease] == of[docker.LabelRelease] &&
			c.Labels[docker.LabelReplica] == strconv.Itoa(t.Replica) {
			out = append(out, c)
		}
	}
	return out
}

// hasMember reports whether the release that serves, or the one asked for, has
// a member of that name.
func hasMember(svc serviceState, name string) bool {
	members := svc.desired.Spec.Members()
	if svc.release != nil {
		members = append(members, svc.release.Spec.Members()...)
	}
	for _, m := range members {
		if m.Name == name {
			return true
		}
	}
	return false
}
