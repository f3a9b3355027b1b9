package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestAContainerThatIsKilledOrRemovedComesBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	app := b.app("hurt")
	b.apply(0, site(app, b.web("v1"), quickProbe))
	for _, tc := range []struct {
		name string
		hurt func(id string)
	}{
		{"killed", b.engine.kill},
		{"removed", b.engine.remove},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := b.in(t)
			before := b.engine.runs(b.instance, app)
			tc.hurt(b.engine.containers(b.instance, app)[0].ID)
			b.eventually(settleTime, "it runs and serves again", func(ctx context.Context) error {
				now := b.engine.runs(b.instance, app)
				if len(now) != 1 || now[0] == before[0] || !strings.Contains(now[0], " running ") {
					return fmt.Errorf("before: %q, now: %q", before, now)
				}
				code, body, err := b.request(ctx, http.MethodGet, app+".localhost", "/version", "")
				if err != nil || code != http.StatusOK || body != "v1\n" {
					return fmt.Errorf("%d %q %w", code, body, err)
				}
				return nil
			})
			b.eventually(settleTime, "the status is ready", func(context.Context) error {
				if out := b.run("", "status", app); !strings.Contains(out.text, "ready") {
					return fmt.Errorf("%s", out.text)
				}
				return nil
			})
		})
	}
}

func (e *engine) kill(id string) {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	if _, err := e.cli.ContainerKill(ctx, id, moby.ContainerKillOptions{Signal: "KILL"}); err != nil {
		e.t.Fatal(err)
	}
}

func TestAppsWhoseFullNamesMeetAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	one := fmt.Sprintf("name: m%s\nservices:\n  b-c: {image: %s}\n", b.tag, b.web("v1"))
	other := fmt.Sprintf("name: m%s-b\nservices:\n  c: {image: %s}\n", b.tag, b.web("v1"))
	b.apply(0, one)
	out := b.apply(6, other)
	t.Log(out.text)
	b.has(out, "services.c", "full name m"+b.tag+"-b-c belongs to app m"+b.tag, "Rename one of the two")
	b.want(4, "", "status", "m"+b.tag+"-b")
}

// TestForeignContainersAreLeftAlone puts containers of others where Berth
// looks: with names of the shape that ours have, with our labels but of
// another Berth, and with the very name that a release needs.
func TestForeignContainersAreLeftAlone(t *testing.T) {
	t.Parallel()
	b := start(t)
	app, v1 := b.app("foreign"), b.web("v1")
	file := site(app, v1, quickProbe)
	b.apply(0, file)
	name := strings.TrimPrefix(b.engine.containers(b.instance, app)[0].Names[0], "/")
	b.want(0, "", "delete", app, "--yes")
	b.leavesNothing()

	shaped := b.engine.foreign(app+"-web-0a1b2c3d", v1, nil)
	labelled := b.engine.foreign(app+"-web-0a1b2c3e", v1, map[string]string{
		docker.LabelInstance: "another", docker.LabelApp: app, docker.LabelService: app + "-web", docker.LabelMember: "main",
	})
	holder := b.engine.foreign(name, v1, nil)
	since := func(ids ...string) (out []string) {
		for _, id := range ids {
			s, there := b.engine.inspect(id)
			if !there {
				t.Fatalf("container %s is gone", id)
			}
			out = append(out, s.Name+" "+string(s.State.Status)+" "+s.State.StartedAt)
		}
		return out
	}
	before := since(shaped, labelled, holder)

	out := b.apply(1, file)
	t.Log(out.text)
	b.has(out, "ContainerNameTaken", name, "remove or rename it")
	b.apply(0, site(app, b.web("v2"), quickProbe))
	if got := b.get(app+".localhost", "/version"); got != "v2\n" {
		t.Errorf("served by %q", got)
	}
	b.want(0, "", "delete", app, "--yes")
	b.leavesNothing()
	if now := since(shaped, labelled, holder); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("before %q, now %q", before, now)
	}
}

// foreign runs a container that is not Berth's until the test ends.
func (e *engine) foreign(name, image string, labels map[string]string) string {
	e.t.Helper()
	ctx, cancel := e.ctx()
	defer cancel()
	made, err := e.cli.ContainerCreate(ctx, moby.ContainerCreateOptions{Name: name, Config: &container.Config{Image: image, Labels: labels}})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { e.remove(made.ID) })
	if _, err := e.cli.ContainerStart(ctx, made.ID, moby.ContainerStartOptions{}); err != nil {
		e.t.Fatal(err)
	}
	return made.ID
}
