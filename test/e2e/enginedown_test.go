package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

// TestAnEngineThatIsAwayForAWhileCostsNoRequest takes the engine away, changes
// a service, and gives the engine back.
func TestAnEngineThatIsAwayForAWhileCostsNoRequest(t *testing.T) {
	proxy := newEngineProxy(t, testimage.Socket(t))
	b := start(t, onDocker(proxy.address()))
	app := b.app("away")
	b.apply(0, site(app, b.web("v1"), quickProbe))
	v2 := b.web("v2")
	done := b.traffic(app + ".localhost")

	proxy.down()
	out := b.want(1, "", "doctor")
	t.Log(out.text)
	b.has(out, "docker engine", "start the engine")
	b.has(b.want(0, "", "status", app), "v1", "1/1")
	out = b.want(1, "", "logs", app)
	t.Log(out.text)
	b.has(out, "the container engine does not answer", "berth doctor")

	b.apply(0, site(app, v2, quickProbe), "--detach")
	b.eventually(startTimeout, "the status says that the engine does not answer", func(context.Context) error {
		s := b.status(app)
		for _, c := range s.Services[0].Conditions {
			if c.Reason == "EngineError" {
				return nil
			}
		}
		return fmt.Errorf("%+v", s.Services[0].Conditions)
	})
	out = b.want(0, "", "status", app)
	t.Log(out.text)
	b.has(out, "deploying", "v1")

	proxy.up()
	out = b.want(0, "", "status", app, "-f")
	t.Log(out.text)
	b.has(out, "ready  web v2")
	if got := b.get(app+".localhost", "/version"); got != "v2\n" {
		t.Errorf("served by %q", got)
	}
	done()
	b.has(b.run("", "doctor"), "docker engine")
	b.want(0, "", "delete", app, "--yes")
	b.leavesNothing()
}
