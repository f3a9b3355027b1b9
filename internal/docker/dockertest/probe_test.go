package dockertest_test

import (
	"errors"
	"io"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestAProbeSeesWhatTheBehaviourScripts(t *testing.T) {
	type answer struct {
		at     time.Duration
		path   string
		status int
		err    error
	}
	for name, c := range map[string]struct {
		behaviour dockertest.Behaviour
		want      []answer
	}{
		"healthy at once": {dockertest.Behaviour{Port: 80}, []answer{{0, "/", 200, nil}}},
		"listens late": {dockertest.Behaviour{Port: 80, StartDelay: time.Second}, []answer{
			{999 * time.Millisecond, "/", 0, syscall.ECONNREFUSED}, {time.Second, "/", 200, nil}}},
		"healthy late": {dockertest.Behaviour{Port: 80, HealthyAfter: time.Second}, []answer{
			{0, "/", 503, nil}, {time.Second, "/", 200, nil}}},
		"a path over time": {dockertest.Behaviour{Port: 80, Paths: map[string][]dockertest.StatusAt{
			"/ok": {{0, 503}, {time.Second, 204}, {2 * time.Second, 500}}}}, []answer{
			{0, "/ok", 503, nil}, {0, "/other", 200, nil}, {1500 * time.Millisecond, "/ok", 204, nil}, {time.Minute, "/ok", 500, nil}}},
		"every path":      {dockertest.Status(80, 500), []answer{{0, "/", 500, nil}, {0, "/x", 500, nil}}},
		"never answers":   {dockertest.Status(80, 0), []answer{{0, "/", 0, dockertest.ErrNoAnswer}}},
		"another port":    {dockertest.Behaviour{Port: 81}, []answer{{time.Minute, "/", 0, dockertest.ErrRefused}}},
		"no port at all":  {dockertest.Behaviour{}, []answer{{time.Minute, "/", 0, dockertest.ErrRefused}}},
		"ended meanwhile": {dockertest.Behaviour{Port: 80, Exit: &dockertest.Exit{After: time.Second}}, []answer{{0, "/", 200, nil}, {time.Second, "/", 0, syscall.EHOSTUNREACH}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			addr := netip.AddrPortFrom(w.run(w.spec("web", c.behaviour)), 80)
			for _, a := range c.want {
				w.clock.Advance(a.at - w.since())
				status, err := w.HTTP(w.ctx, addr, a.path)
				if status != a.status || !errors.Is(err, a.err) {
					t.Errorf("after %v %s answers %d, %v; want %d, %v", a.at, a.path, status, err, a.status, a.err)
				}
				if tcp := w.TCP(w.ctx, addr); (tcp == nil) != (err == nil || errors.Is(err, dockertest.ErrNoAnswer)) {
					t.Errorf("after %v TCP says %v while HTTP says %v", a.at, tcp, err)
				}
			}
		})
	}
}

func TestAPublishedPortAcceptsWhileNothingListens(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("web", dockertest.Behaviour{Port: 80, StartDelay: time.Minute})
	spec.Ports = []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: 8080, ContainerPort: 80}}
	inside := netip.AddrPortFrom(w.run(spec), 80)
	published := netip.MustParseAddrPort("127.0.0.1:8080")

	if err := w.TCP(w.ctx, published); err != nil {
		t.Errorf("the published port refused: %v", err)
	}
	if _, err := w.HTTP(w.ctx, published, "/"); !errors.Is(err, io.EOF) {
		t.Errorf("the published port answered: %v", err)
	}
	if err := w.TCP(w.ctx, inside); !errors.Is(err, dockertest.ErrRefused) {
		t.Errorf("the container accepted: %v", err)
	}
	w.clock.Advance(time.Minute)
	if status, err := w.HTTP(w.ctx, published, "/"); status != 200 || err != nil {
		t.Errorf("published: %d, %v", status, err)
	}
	w.SetDown(true)
	if err := w.TCP(w.ctx, published); !errors.Is(err, dockertest.ErrRefused) {
		t.Errorf("the proxy of a dead engine accepted: %v", err)
	}
	if status, err := w.HTTP(w.ctx, inside, "/"); status != 200 || err != nil {
		t.Errorf("the container of a dead engine: %d, %v", status, err)
	}
}

func TestAHostPortOfAnotherProcessIsInUse(t *testing.T) {
	w := newWorld(t)
	release := w.OccupyPort(netip.MustParseAddrPort("127.0.0.1:8080"))
	spec := w.spec("web", dockertest.Behaviour{})
	spec.Ports = []docker.PortBinding{{HostIP: "0.0.0.0", HostPort: 9090}, {HostIP: "0.0.0.0", HostPort: 8080}}
	_, err := w.Create(w.ctx, spec)
	w.must(err)
	if err := w.Start(w.ctx, "web"); !errors.Is(err, docker.ErrPortInUse) {
		t.Fatalf("start: %v", err)
	}
	free := w.OccupyPort(netip.MustParseAddrPort("0.0.0.0:9090"))
	free() // the refused start held none of its ports
	release()
	w.must(w.Start(w.ctx, "web"))
}

func TestAHostRouteForbidsASubnet(t *testing.T) {
	w := newWorld(t)
	w.AddHostRoute(netip.MustParsePrefix("10.9.0.0/16"))
	_, err := w.CreateNetwork(w.ctx, docker.NetworkSpec{Name: "net", Subnet: netip.MustParsePrefix("10.9.8.0/24")})
	if !errors.Is(err, docker.ErrSubnetOverlap) {
		t.Fatalf("create network: %v", err)
	}
}

func TestAnEngineChoosesAnAddressNobodyHas(t *testing.T) {
	w := newWorld(t)
	fixed := w.spec("fixed", dockertest.Behaviour{})
	fixed.Network.Address = netip.MustParseAddr("10.1.0.2")
	w.run(fixed)
	for _, want := range []string{"10.1.0.3", "10.1.0.4"} {
		if got := w.run(w.spec("c-"+want, dockertest.Behaviour{})); got.String() != want {
			t.Fatalf("address %v, want %s", got, want)
		}
	}
}
