package apitest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// engine has the containers that the played rollouts left active, with all their
// members, and runs a few commands in them. Sidecars do not run.
type engine struct{ store *sqlite.Store }

var _ api.Engine = engine{}

// List implements api.Engine.
func (e engine) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return nil, err
	}
	var out []docker.ContainerState
	for _, a := range routes.Active {
		if app := labels[docker.LabelApp]; app != "" && app != a.AppID {
			continue
		}
		release, err := e.store.GetRelease(ctx, a.ReleaseID)
		if err != nil {
			return nil, err
		}
		for _, t := range a.Targets {
			for _, m := range release.Spec.Members() {
				c := docker.ContainerState{
					ID: "id-" + t.Container, Name: t.Container, Status: docker.StatusRunning, Address: t.Address.Addr(), Created: Epoch, Started: Epoch,
					Labels: map[string]string{
						docker.LabelInstance: labels[docker.LabelInstance], docker.LabelApp: a.AppID, docker.LabelService: a.Service,
						docker.LabelRelease: a.ReleaseID, docker.LabelReplica: strconv.Itoa(t.Replica), docker.LabelMember: m.Name,
					},
				}
				if m.Role != spec.RoleMain {
					c.Status, c.Exit.Code = docker.StatusExited, 3
					c.ID, c.Name = c.ID+"-"+m.Name, c.Name+"-"+m.Name
					c.Labels[docker.LabelRole] = string(m.Role)
				}
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// Inspect implements api.Engine.
func (e engine) Inspect(ctx context.Context, container string) (*docker.ContainerState, error) {
	all, err := e.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c docker.ContainerState) bool { return c.ID == container || c.Name == container })
	if i < 0 {
		return nil, fmt.Errorf("inspect container %s: %w", container, docker.ErrNotFound)
	}
	all[i].Full, all[i].RestartCount = true, 1
	return &all[i], nil
}

// Exec implements api.Engine: "echo WORDS" and "complain WORDS" print to the two
// outputs, "cat" copies its input, "fail N" ends with N, "where" names its
// container, "size" prints that of its terminal and again when it changed,
// "sleep" lasts until it is given up. Nothing else is in the container.
func (e engine) Exec(ctx context.Context, container string, x docker.ExecSpec) (int, error) {
	words := strings.Join(x.Command[1:], " ")
	switch x.Command[0] {
	case "echo":
		_, err := fmt.Fprintln(x.Stdout, words)
		return 0, err
	case "complain":
		_, err := fmt.Fprintln(x.Stderr, words)
		return 0, err
	case "where":
		_, err := fmt.Fprintln(x.Stdout, container)
		return 0, err
	case "cat":
		if x.Stdin == nil {
			return 0, nil
		}
		_, err := io.Copy(x.Stdout, x.Stdin)
		return 0, err
	case "fail":
		return strconv.Atoi(words)
	case "size":
		return 0, printSizes(ctx, x)
	case "sleep":
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return 0, fmt.Errorf("execute in container %s: %w", container, docker.ErrExecNotFound)
}

// printSizes prints two sizes of the terminal.
func printSizes(ctx context.Context, x docker.ExecSpec) error {
	for range 2 {
		select {
		case s := <-x.Resize:
			if _, err := fmt.Fprintf(x.Stdout, "%t %dx%d\n", x.TTY, s.Width, s.Height); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
