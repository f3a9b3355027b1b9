package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/api/types/container"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

const engineTimeout = 30 * time.Second

// engine looks at the Docker engine past Berth, as somebody beside it would.
type engine struct {
	socket string
	t      *testing.T
	cli    *moby.Client
}

func dial(t *testing.T, socket string) *engine {
	t.Helper()
	cli, err := moby.New(moby.WithHost("unix://" + socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return &engine{socket: socket, t: t, cli: cli}
}

func (e *engine) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), engineTimeout)
}

// labelled are filters for all that carries these labels, "name=value".
func labelled(labels ...string) moby.Filters {
	return moby.Filters{}.Add("label", labels...)
}

// containers lists those of an app, stopped ones too, by name.
func (e *engine) containers(instance, app string) []container.Summary {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	labels := []string{docker.LabelInstance + "=" + instance}
	if app != "" {
		labels = append(labels, docker.LabelApp+"="+app)
	}
	list, err := e.cli.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: labelled(labels...)})
	if err != nil {
		e.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b container.Summary) int { return slices.Compare(a.Names, b.Names) })
	return list.Items
}

// runs are the containers of an app with their state, and when each began: two
// equal lists mean that nothing happened to them.
func (e *engine) runs(instance, app string) []string {
	e.t.Helper()
	var out []string
	for _, c := range e.containers(instance, app) {
		if s, there := e.inspect(c.ID); there {
			out = append(out, s.Name+" "+string(s.State.Status)+" since "+s.State.StartedAt)
		}
	}
	return out
}

func (e *engine) inspect(id string) (s container.InspectResponse, there bool) {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	got, err := e.cli.ContainerInspect(ctx, id, moby.ContainerInspectOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		e.t.Fatal(err)
	}
	return got.Container, err == nil
}

func (e *engine) networks(instance string) []string {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	list, err := e.cli.NetworkList(ctx, moby.NetworkListOptions{Filters: labelled(docker.LabelInstance + "=" + instance)})
	if err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

func (e *engine) volumes(instance string) []string {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	list, err := e.cli.VolumeList(ctx, moby.VolumeListOptions{Filters: labelled(docker.LabelInstance + "=" + instance)})
	if err != nil {
		e.t.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

func (e *engine) remove(id string) {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	_, err := e.cli.ContainerRemove(ctx, id, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		e.t.Errorf("remove container %s: %v", id, err)
	}
}

// removeAll removes whatever carries the label of one Berth.
func (e *engine) removeAll(instance string) {
	e.t.Helper()
	if instance == "" {
		return // it never began
	}
	for _, c := range e.containers(instance, "") {
		e.remove(c.ID)
	}
	ctx, cancel := e.ctx()
	defer cancel()
	for _, name := range e.networks(instance) {
		if _, err := e.cli.NetworkRemove(ctx, name, moby.NetworkRemoveOptions{}); err != nil {
			e.t.Errorf("remove network %s: %v", name, err)
		}
	}
	for _, name := range e.volumes(instance) {
		if _, err := e.cli.VolumeRemove(ctx, name, moby.VolumeRemoveOptions{}); err != nil {
			e.t.Errorf("remove volume %s: %v", name, err)
		}
	}
}

// web makes the image of test/images/web in a version, and returns its reference.
func (e *engine) web(version string) string {
	e.t.Helper()
	// Without an entrypoint, so that `command` names the program.
	return testimage.Build(e.t, e.socket, "web", testimage.Env("VERSION", version), testimage.Config(func(c *v1.Config) {
		c.Entrypoint, c.Cmd = nil, []string{"/web"}
	}))
}

// probe makes the image of test/images/probe, and returns its reference.
func (e *engine) probe() string {
	e.t.Helper()
	return testimage.Build(e.t, e.socket, "probe")
}
