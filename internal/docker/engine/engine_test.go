package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/docker/engine"
)

func TestMain(m *testing.M) {
	testimage.SideBySide(6)
	goleak.VerifyTestMain(m)
}

// rig is a client on the real engine with a network of its own, and a label
// that marks all it makes. Everything is gone when the test ends.
type rig struct {
	*engine.Client
	t      testing.TB
	socket string
	prefix string
	label  map[string]string
	net    string
	subnet netip.Prefix
	next   netip.Addr
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := newBareRig(t)
	r.net, r.subnet = r.network(r.prefix)
	r.next = r.subnet.Addr().Next()
	return r
}

func newPrefix() string {
	var id [4]byte
	_, _ = rand.Read(id[:])
	return "berth-enginetest-" + hex.EncodeToString(id[:])
}

// newBareRig has no network yet.
func newBareRig(t testing.TB) *rig {
	t.Helper()
	socket := testimage.Socket(t)
	c, err := engine.New(engine.Options{Host: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	r := &rig{Client: c, t: t, socket: socket, prefix: newPrefix()}
	r.label = map[string]string{"berth.enginetest": r.prefix}
	t.Cleanup(r.sweep)
	return r
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

// subnetSeed keeps test processes that run side by side mostly apart; what
// still collides is tried again with the next subnet.
var subnetSeed atomic.Uint32

func init() {
	var b [4]byte
	_, _ = rand.Read(b[:])
	subnetSeed.Store(binary.BigEndian.Uint32(b[:]))
}

func (r *rig) network(name string) (string, netip.Prefix) {
	r.t.Helper()
	for range 50 {
		subnet := nextSubnet()
		id, err := r.CreateNetwork(r.ctx(), docker.NetworkSpec{Name: name, Subnet: subnet, Labels: r.label})
		if errors.Is(err, docker.ErrSubnetOverlap) {
			continue
		}
		if err != nil {
			r.t.Fatal(err)
		}
		return id, subnet
	}
	r.t.Fatal("no free subnet")
	return "", netip.Prefix{}
}

func nextSubnet() netip.Prefix {
	n := subnetSeed.Add(1)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 200 + byte(n>>8)%50, byte(n), 0}), 24)
}

// sweep removes all that carries the rig's label.
func (r *rig) sweep() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	states, err := r.List(ctx, r.label)
	r.check(err)
	for _, s := range states {
		r.check(r.Stop(ctx, s.ID, 0))
		r.check(r.Remove(ctx, s.ID))
	}
	volumes, err := r.ListVolumes(ctx, r.label)
	r.check(err)
	for _, v := range volumes {
		r.check(r.RemoveVolume(ctx, v.Name))
	}
	networks, err := r.ListNetworks(ctx, r.label)
	r.check(err)
	for _, n := range networks {
		r.check(r.RemoveNetwork(ctx, n.ID))
	}
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Errorf("clean-up: %v", err)
	}
}

// probe is a spec for the probe program with these steps.
func (r *rig) probe(name string, steps ...string) docker.ContainerSpec {
	r.t.Helper()
	r.next = r.next.Next()
	return docker.ContainerSpec{
		Name:    r.prefix + "-" + name,
		Image:   testimage.Build(r.t, r.socket, "probe"),
		Command: steps,
		Labels:  r.label,
		Network: docker.NetworkAttachment{Network: r.net, Address: r.next},
	}
}

func (r *rig) create(spec docker.ContainerSpec) string {
	r.t.Helper()
	id, err := r.Create(r.ctx(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *rig) run(spec docker.ContainerSpec) string {
	r.t.Helper()
	id := r.create(spec)
	if err := r.Start(r.ctx(), id); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// lines reads the log up to its end, which comes when the container ends.
func (r *rig) lines(id string, opts docker.LogOptions) []docker.LogLine {
	r.t.Helper()
	opts.Follow = true
	var out []docker.LogLine
	err := r.Logs(r.ctx(), id, opts, func(l docker.LogLine) error {
		out = append(out, l)
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// finish runs a container to its end and returns its log and state.
func (r *rig) finish(spec docker.ContainerSpec) ([]docker.LogLine, *docker.ContainerState) {
	r.t.Helper()
	id := r.run(spec)
	lines := r.lines(id, docker.LogOptions{})
	// The log may end a moment before the state changes; Stop waits for it.
	if err := r.Stop(r.ctx(), id, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	return lines, r.inspect(id)
}

func (r *rig) inspect(id string) *docker.ContainerState {
	r.t.Helper()
	state, err := r.Inspect(r.ctx(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return state
}

func text(lines []docker.LogLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.Text
	}
	return out
}

func wantErr(t testing.TB, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("got error %v, want %v", err, sentinel)
	}
}
