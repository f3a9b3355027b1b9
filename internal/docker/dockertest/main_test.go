package dockertest_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an engine on a virtual clock with one network.
type world struct {
	*dockertest.Engine
	t     testing.TB
	clock *dockertest.Clock
	ctx   context.Context
}

const testNetwork = "testnet"

func newWorld(t testing.TB) *world {
	t.Helper()
	clock := dockertest.NewClock(epoch)
	w := &world{Engine: dockertest.New(clock), t: t, clock: clock, ctx: context.Background()}
	t.Cleanup(w.Close)
	_, err := w.CreateNetwork(w.ctx, docker.NetworkSpec{Name: testNetwork, Subnet: netip.MustParsePrefix("10.1.0.0/16")})
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// spec is a container of an image that behaves so; the image has its name.
func (w *world) spec(name string, b dockertest.Behaviour) docker.ContainerSpec {
	w.AddImage(name, docker.Image{}, b)
	return docker.ContainerSpec{Name: name, Image: name, Network: docker.NetworkAttachment{Network: testNetwork}}
}

// run starts a container and returns its address.
func (w *world) run(spec docker.ContainerSpec) netip.Addr {
	w.t.Helper()
	_, err := w.Create(w.ctx, spec)
	w.must(err)
	w.must(w.Start(w.ctx, spec.Name))
	return w.inspect(spec.Name).Address
}

func (w *world) inspect(name string) *docker.ContainerState {
	w.t.Helper()
	st, err := w.Inspect(w.ctx, name)
	w.must(err)
	return st
}

func (w *world) since() time.Duration { return w.clock.Now().Sub(epoch) }
