package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const (
	instance = "inst"
	app      = "shop"
	service  = "shop-web"
	appNet   = "berth-app-shop"
	image    = "app:1"
)

var appSubnet = netip.MustParsePrefix("10.9.1.0/24")

// machines are simulated engines that joined.
type machines struct {
	mu      sync.Mutex
	all     map[string]*fleet.Member
	engines map[string]*dockertest.Engine
	dialled []string                            // "node address"
	wrap    func(docker.Runtime) docker.Runtime // optional
}

func (m *machines) Members() []fleet.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []fleet.Member
	for _, x := range m.all {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b fleet.Member) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (m *machines) Engine(id string) (docker.Runtime, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[id] == nil {
		return nil, fmt.Errorf("machine %s is unknown", id)
	}
	if m.wrap != nil {
		return m.wrap(m.engines[id]), nil
	}
	return m.engines[id], nil
}

func (m *machines) Dial(_ context.Context, id, address string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dialled = append(m.dialled, strings.TrimSpace(id+" "+address))
	if m.all[id] == nil || !m.all[id].Online {
		return nil, errOffline
	}
	return nil, errDialled
}

func (m *machines) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	_, _ = m.Dial(ctx, "", address)
	return nil, errDialled
}

var (
	errOffline = errors.New("offline")
	errDialled = errors.New("dialled, and that is all")
)

// rig is a fleet of this machine and some that joined.
type rig struct {
	*fleet.Fleet
	t      testing.TB
	ctx    context.Context
	clock  *dockertest.Clock
	here   *dockertest.Engine
	others *machines
	mu     sync.Mutex
	missed []string
}

// newRig makes one whose engines all have the image and whose app has its network here.
func newRig(t testing.TB, ids ...string) *rig {
	return newRigOn(t, dockertest.NewClock(epoch), func(*fleet.Options) {}, ids...)
}

func newRigOn(t testing.TB, clock *dockertest.Clock, change func(*fleet.Options), ids ...string) *rig {
	t.Helper()
	r := &rig{t: t, ctx: context.Background(), clock: clock, others: &machines{all: map[string]*fleet.Member{}, engines: map[string]*dockertest.Engine{}}}
	r.here = dockertest.New(r.clock, dockertest.WithSeed("here"))
	for _, id := range ids {
		r.join(id)
	}
	r.open(change)
	_, err := r.here.CreateNetwork(r.ctx, docker.NetworkSpec{Name: appNet, Subnet: appSubnet, Labels: map[string]string{
		docker.LabelInstance: instance, docker.LabelApp: app,
	}})
	r.must(err)
	r.everywhere(image, docker.Image{ID: "sha256:app", SizeBytes: 1 << 20})
	t.Cleanup(func() {
		r.Close()
		r.here.Close()
		for _, e := range r.others.engines {
			e.Close()
		}
	})
	return r
}

// open makes the fleet, as a daemon that starts does.
func (r *rig) open(change func(*fleet.Options)) {
	if r.Fleet != nil {
		r.Close()
	}
	o := fleet.Options{
		Local: r.here, Members: r.others, Instance: instance, Now: r.clock.Now, Dialer: r.others,
		Missed: func(node string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.missed = append(r.missed, node)
		},
	}
	if change != nil {
		change(&o)
	}
	r.Fleet = fleet.New(o)
}

func (r *rig) join(id string) *dockertest.Engine {
	e := dockertest.New(r.clock, dockertest.WithSeed(id))
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	r.others.engines[id] = e
	r.others.all[id] = &fleet.Member{ID: id, Online: true, Since: r.clock.Now()}
	return e
}

func (r *rig) engine(id string) *dockertest.Engine {
	if id == "" {
		return r.here
	}
	return r.others.engines[id]
}

// set takes a machine away, or brings it back, engine and all.
func (r *rig) set(id string, online bool) {
	r.others.mu.Lock()
	m := r.others.all[id]
	m.Online, m.Since = online, m.Since.Add(time.Second)
	r.others.mu.Unlock()
	r.others.engines[id].SetDown(!online)
	if r.Fleet != nil {
		r.Changed()
	}
}

func (r *rig) gone(id string) {
	r.set(id, false)
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	r.others.all[id].Gone = true
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// everywhere puts an image on all engines.
func (r *rig) everywhere(ref string, im docker.Image) {
	r.here.AddImage(ref, im, dockertest.Behaviour{})
	for _, e := range r.others.engines {
		e.AddImage(ref, im, dockertest.Behaviour{})
	}
}

func on(nodes ...string) store.Placement { return store.Placement{AppID: app, Nodes: nodes} }

// without is a placement of an app that gave a node up.
func without(lost string, nodes ...string) store.Placement {
	return store.Placement{AppID: app, Nodes: nodes, Lost: []string{lost}}
}

func replica(n int) docker.ContainerSpec { return named(service+"-0a1b2c3d", n) }

func named(base string, n int) docker.ContainerSpec {
	name := base
	if n > 0 {
		name += "-r" + strconv.Itoa(n)
	}
	return docker.ContainerSpec{
		Name: name, Image: "sha256:app",
		Labels: map[string]string{
			docker.LabelInstance: instance, docker.LabelApp: app, docker.LabelService: service, docker.LabelReplica: strconv.Itoa(n),
		},
		Network: docker.NetworkAttachment{Network: appNet, Address: netip.AddrFrom4([4]byte{10, 9, 1, byte(10 + n)})},
	}
}

// up creates replicas of the app and starts them.
func (r *rig) up(p store.Placement, n int) {
	r.t.Helper()
	rt := r.For(p)
	for i := range n {
		_, err := rt.Create(r.ctx, replica(i))
		r.must(err)
		r.must(rt.Start(r.ctx, replica(i).Name))
	}
}

func ofService() map[string]string {
	return map[string]string{docker.LabelInstance: instance, docker.LabelService: service}
}

// listed is what a runtime lists of the service: "name node status", with "away".
func (r *rig) listed(rt docker.Runtime) []string {
	r.t.Helper()
	list, err := rt.List(r.ctx, ofService())
	r.must(err)
	var out []string
	for i := range list {
		s := &list[i]
		line := strings.TrimPrefix(s.Name, service+"-") + " " + cmp.Or(s.Node, "here") + " " + string(s.Status)
		if s.Away {
			line += " away"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func (r *rig) wantListed(rt docker.Runtime, want ...string) {
	r.t.Helper()
	if got := r.listed(rt); !slices.Equal(got, want) {
		r.t.Errorf("listed %q, want %q", got, want)
	}
}

// names are the containers that an engine has in truth.
func (r *rig) names(id string) []string {
	var out []string
	for _, c := range r.engine(id).Containers() {
		out = append(out, c.Name)
	}
	slices.Sort(out)
	return out
}

func wantErr(t testing.TB, err, want error, says ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
		return
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not say %q", err, s)
		}
	}
}
