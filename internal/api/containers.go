package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// maxContainers bounds the containers of one answer.
	maxContainers = 5000
	// inspectsAtOnce bounds the engine calls of one request under way.
	inspectsAtOnce = 8
)

// Engine is what the API asks of a container engine. A docker.Runtime is one.
type Engine interface {
	List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error)
	Inspect(ctx context.Context, container string) (*docker.ContainerState, error)
	Exec(ctx context.Context, container string, e docker.ExecSpec) (int, error)
}

type containersOutput struct{ Body wire.ContainerList }

func (s *Server) registerContainers(r *registrar) {
	register(r, RuleAdmin, op(http.MethodGet, "/v1/containers", "list-containers", "The containers of all apps, as the engine has them"),
		func(ctx context.Context, _ *struct{}) (*containersOutput, error) { return s.containers(ctx, "") })
	register(r, RuleAdmin, op(http.MethodGet, "/v1/apps/{app}/containers", "list-app-containers", "The containers of an app, as the engine has them"),
		func(ctx context.Context, in *appInput) (*containersOutput, error) {
			if _, err := s.mustReadApp(ctx, in.App); err != nil {
				return nil, s.asProblem(ctx, err)
			}
			return s.containers(ctx, in.App)
		})
}

func (s *Server) containers(ctx context.Context, app string) (*containersOutput, error) {
	out := &containersOutput{wire.ContainerList{Containers: []wire.Container{}}}
	err := func() error {
		listed, err := s.listContainers(ctx, app)
		if err != nil {
			return err
		}
		full, err := s.inspectAll(ctx, listed)
		if err != nil {
			return err
		}
		routes, err := s.deps.Store.Routes(ctx)
		if err != nil {
			return fmt.Errorf("read the active releases: %w", err)
		}
		for i := range full {
			out.Body.Containers = append(out.Body.Containers, placed(&full[i], routes.Active))
		}
		return nil
	}()
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	slices.SortFunc(out.Body.Containers, func(a, b wire.Container) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Service, b.Service), cmp.Compare(len(a.Release), len(b.Release)),
			cmp.Compare(a.Release, b.Release), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// listContainers asks the engine for the containers of an app of this Berth, or
// of all its apps for "".
func (s *Server) listContainers(ctx context.Context, app string) ([]docker.ContainerState, error) {
	if s.deps.Engine == nil {
		return nil, noEngine()
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	labels := map[string]string{docker.LabelInstance: s.deps.Instance, docker.LabelService: ""}
	if app != "" {
		labels[docker.LabelApp] = app
	}
	found, err := s.deps.Engine.List(ctx, labels)
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	// Those of workloads are the provider's, and carry the same mark.
	found = slices.DeleteFunc(found, func(c docker.ContainerState) bool { return c.Labels[docker.LabelWorkload] != "" })
	if len(found) > maxContainers {
		return nil, invalidRequest(fmt.Sprintf("there are %d containers, more than one answer holds", len(found)), "Ask for one app.")
	}
	return found, nil
}

// inspectAll adds what only a look at each container tells. One that is gone
// meanwhile is left out.
func (s *Server) inspectAll(ctx context.Context, listed []docker.ContainerState) ([]docker.ContainerState, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	found := make([]*docker.ContainerState, len(listed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inspectsAtOnce)
	for i := range listed {
		group.Go(func() error {
			if listed[i].Away {
				found[i] = &listed[i]
				return nil
			}
			c, err := s.deps.Engine.Inspect(ctx, listed[i].ID)
			if docker.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("inspect container %s: %w", listed[i].Name, err)
			}
			found[i] = c
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	out := make([]docker.ContainerState, 0, len(found))
	for _, c := range found {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, nil
}

// placed is a container with its part in what serves.
func placed(c *docker.ContainerState, active []store.ActiveRelease) wire.Container {
	out := wireContainer(c)
	for i := range active {
		a := &active[i]
		if a.Service != c.Labels[docker.LabelService] {
			continue
		}
		out.Serves = a.ReleaseID == c.Labels[docker.LabelRelease]
		if slices.ContainsFunc(a.Targets, func(t store.ActiveTarget) bool { return t.Container == c.Name }) {
			out.Serves, out.Traffic = true, c.Running()
		}
	}
	return out
}

// memberName is the name of a sidecar or an init, or that of every main container.
func memberName(c *docker.ContainerState) string {
	if c.Labels[docker.LabelRole] == "" {
		return wire.MainMember
	}
	return c.Labels[docker.LabelMember]
}

// wireContainer is a container as its labels and the engine describe it.
func wireContainer(c *docker.ContainerState) wire.Container {
	app := c.Labels[docker.LabelApp]
	replica, _ := strconv.Atoi(c.Labels[docker.LabelReplica]) // 0 for a label that is none
	out := wire.Container{
		App: app, Service: spec.ShortName(app, c.Labels[docker.LabelService]), Replica: replica,
		Member: memberName(c), Role: c.Labels[docker.LabelRole],
		Release: store.VersionOf(c.Labels[docker.LabelRelease]), Name: c.Name, ID: c.ID,
		State: string(c.Status), Restarts: c.RestartCount, CreatedAt: c.Created, StartedAt: c.Started,
		Node: c.Node, Away: c.Away,
	}
	if c.Address.IsValid() {
		out.Address = c.Address.String()
	}
	switch c.Status {
	case docker.StatusExited, docker.StatusDead, docker.StatusRestarting:
		code := c.Exit.Code
		out.ExitCode, out.OOMKilled = &code, c.Exit.OOMKilled
	case docker.StatusCreated, docker.StatusRunning, docker.StatusPaused, docker.StatusRemoving:
	}
	return out
}
