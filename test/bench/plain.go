package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// plain does by the engine's own calls what a workload takes. It keeps the names
// and addresses of what it made in its head, records nothing and handles no
// failure: no program can ask less of the engine.
type plain struct {
	engine *client.Client
	host   *dialled
	pool   netip.Prefix

	mu     sync.Mutex
	subnet netip.Addr // the next one
	number atomic.Int64
}

func newPlain(ctx context.Context, o options, pool netip.Prefix) (*plain, error) {
	host, err := newDialled(o.docker)
	if err != nil {
		return nil, err
	}
	engine, err := client.New(client.WithHost(o.docker), client.WithDialContext(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return host.dial(ctx)
	}))
	if err != nil {
		return nil, err
	}
	return &plain{engine: engine, host: host, pool: pool, subnet: pool.Addr()}, loadImage(ctx, engine)
}

func (p *plain) timed(do func() error) (sample, error) {
	requests, begun := p.host.requests.Load(), time.Now()
	err := do()
	return sample{took: time.Since(begun), requests: p.host.requests.Load() - requests}, err
}

// group is a workload of the plain program: a network and what runs on it.
type group struct {
	p          *plain
	network    string
	subnet     netip.Addr
	next       netip.Addr
	containers []string
}

// newGroup makes a network.
func (p *plain) newGroup(ctx context.Context) (*group, error) {
	p.mu.Lock()
	subnet := p.subnet
	a := subnet.As4()
	if a[2]++; !p.pool.Contains(netip.AddrFrom4(a)) {
		a[2] = p.pool.Addr().As4()[2] // from the start again: those are gone by now
	}
	p.subnet = netip.AddrFrom4(a)
	p.mu.Unlock()
	g := &group{p: p, network: fmt.Sprintf("%s-plain-%d", prefix, p.number.Add(1)), subnet: subnet, next: subnet.Next().Next()}
	_, err := p.engine.NetworkCreate(ctx, g.network, client.NetworkCreateOptions{
		Driver: "bridge", IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: netip.PrefixFrom(subnet, 24)}}},
	})
	return g, err
}

// start creates a container and starts it.
func (g *group) start(ctx context.Context, service string, env ...string) (name string, addr netip.Addr, err error) {
	name, addr = fmt.Sprintf("%s-%s-%d", g.network, service, len(g.containers)), g.next
	g.next = g.next.Next()
	g.containers = append(g.containers, name)
	_, err = g.p.engine.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:       name,
		Config:     &container.Config{Image: ref, Env: env, Labels: map[string]string{labelPlain: g.network}},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(g.network)},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			g.network: {Aliases: []string{service}, IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: addr}},
		}},
	})
	if err != nil {
		return name, addr, err
	}
	_, err = g.p.engine.ContainerStart(ctx, name, client.ContainerStartOptions{})
	return name, addr, err
}

// labelPlain is on the containers of the plain program.
const labelPlain = "berth.bench"

// serve starts a container and waits until it answers.
func (g *group) serve(ctx context.Context, service string, port int, version string) (name string, err error) {
	name, addr, err := g.start(ctx, service, "VERSION="+version, "PORT="+strconv.Itoa(port))
	if err != nil {
		return name, err
	}
	return name, answers(ctx, addr, port, version)
}

func answers(ctx context.Context, addr netip.Addr, port int, version string) error {
	site := newSite(fmt.Sprintf("http://%s/healthz", netip.AddrPortFrom(addr, uint16(port))), "")
	defer site.close()
	return site.await(ctx, version)
}

// finish starts a container and waits until it has ended well.
func (g *group) finish(ctx context.Context, service string, env ...string) error {
	name, _, err := g.start(ctx, service, env...)
	if err != nil {
		return err
	}
	wait := g.p.engine.ContainerWait(ctx, name, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case err := <-wait.Error:
		return err
	case res := <-wait.Result:
		if res.StatusCode != 0 {
			return fmt.Errorf("container %s exited with code %d", name, res.StatusCode)
		}
		return nil
	}
}

// remove takes the group away, if there is one.
func (g *group) remove() error {
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	var errs []error
	for _, name := range g.containers {
		errs = append(errs, removeContainer(ctx, g.p.engine, name))
	}
	_, err := g.p.engine.NetworkRemove(ctx, g.network, client.NetworkRemoveOptions{})
	return errors.Join(append(errs, unlessGone(err))...)
}

// list is the containers that carry all the labels.
func (p *plain) list(ctx context.Context, labels map[string]string) ([]container.Summary, error) {
	f := client.Filters{}
	for k, v := range labels {
		f = f.Add("label", k+"="+v)
	}
	list, err := p.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: f})
	return list.Items, err
}

// left is what the engine holds of an owner: containers and networks.
func (p *plain) left(ctx context.Context, owner string) (int, error) {
	list, err := p.list(ctx, map[string]string{docker.LabelInstance: owner})
	if err != nil {
		return 0, err
	}
	nets, err := p.engine.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("label", docker.LabelInstance+"="+owner)})
	return len(list) + len(nets.Items), err
}

// restart stops a container and starts it again until it answers.
func (g *group) restart(ctx context.Context, name, version string) error {
	if _, err := g.p.engine.ContainerStop(ctx, name, client.ContainerStopOptions{}); err != nil {
		return err
	}
	if _, err := g.p.engine.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
		return err
	}
	return answers(ctx, g.subnet.Next().Next(), port, version)
}

// drop removes one container.
func (g *group) drop(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	return removeContainer(ctx, g.p.engine, name)
}
