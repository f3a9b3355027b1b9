package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/test/images/image"
)

const (
	imageName = "berth-e2e-machines:v1"
	webPort   = "8080"
	requests  = 200 // to each machine
	joinTime  = 20 * time.Second
)

func run(ctx context.Context, o options) (r result, err error) {
	s, err := newStand(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	began := time.Now()
	var ids []string
	defer func() {
		gone, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		leaked, err2 := s.removed(gone, ids)
		r.leaked, err = leaked, errors.Join(err, err2)
	}()
	for range o.machines {
		made, err := s.shard.Manager.CreateInstance(ctx, instances.CreateInstanceRequest{Tenant: tenant, Group: group})
		if err != nil {
			return r, err
		}
		ids = append(ids, made.InstanceID)
		r.created++
		fmt.Printf("%s created after %v\n", made.InstanceID, time.Since(began).Round(time.Millisecond))
	}
	for _, id := range ids {
		if err := s.joined(ctx, id); err != nil {
			return r, err
		}
		r.registered++
		fmt.Printf("%s registered and connected after %v\n", id, time.Since(began).Round(time.Millisecond))
	}
	sites := map[string]*site{}
	for _, id := range ids {
		if sites[id], err = s.run(ctx, id); err != nil {
			return r, fmt.Errorf("%s: %w", id, err)
		}
		r.failed += s.ask(ctx, sites[id])
	}
	if err := s.restart(ctx, ids); err != nil {
		return r, err
	}
	fmt.Printf("the shard ended and began again; all are back after %v\n", time.Since(began).Round(time.Millisecond))
	for _, id := range ids {
		r.failed += s.ask(ctx, sites[id])
		if err := s.unchanged(ctx, sites[id]); err != nil {
			return r, err
		}
	}
	return r, ctx.Err()
}

// restart ends the shard and begins it anew, on another cache, as another server would.
func (s *stand) restart(ctx context.Context, ids []string) error {
	if err := s.end(); err != nil {
		return err
	}
	s.opts.CacheDir += "-next"
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.joined(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// joined waits until the machine's agent is connected.
func (s *stand) joined(ctx context.Context, id string) error {
	sub := s.shard.Hub.Subscribe(16)
	defer sub.Close()
	limit := time.NewTimer(joinTime)
	defer limit.Stop()
	for !s.shard.Hub.Online(id) {
		select {
		case <-sub.Events():
		case <-limit.C:
			return fmt.Errorf("%s did not connect within %v", id, joinTime)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// site is a container on a machine.
type site struct {
	machine, container, address, started string
}

// engine is the machine's, through its agent.
func (s *stand) engine(id string) (*client.Client, error) {
	return client.New(client.WithHost("tcp://machine:1"), client.WithDialContext(s.shard.Hub.Dialer(id, wire.KindEngine)))
}

// run has a container on the machine.
func (s *stand) run(ctx context.Context, id string) (*site, error) {
	engine, err := s.engine(id)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	if err := answers(ctx, engine); err != nil {
		_, why := s.shard.Hub.Dial(ctx, id, wire.KindEngine, "")
		return nil, errors.Join(err, why)
	}
	site, err := s.start(ctx, id, engine)
	if err != nil {
		return nil, err
	}
	return site, s.listens(ctx, site)
}

// listens waits until the container does: a request before that is no failed one.
func (s *stand) listens(ctx context.Context, at *site) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	for {
		conn, err := s.shard.Hub.Dial(ctx, at.machine, wire.KindAddress, at.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the container does not listen: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// unchanged fails if it is not the process that was started.
func (s *stand) unchanged(ctx context.Context, at *site) error {
	engine, err := s.engine(at.machine)
	if err != nil {
		return err
	}
	defer engine.Close()
	seen, err := engine.ContainerInspect(ctx, at.container, client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	if now := seen.Container.State.StartedAt; !seen.Container.State.Running || now != at.started {
		return fmt.Errorf("the container on %s was started at %s, and now at %s", at.machine, at.started, now)
	}
	return nil
}

// ask asks the container through the agent, and tells how often that failed.
func (s *stand) ask(ctx context.Context, at *site) (failed int) {
	web := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return s.shard.Hub.Dialer(at.machine, wire.KindAddress)(ctx, network, at.address)
		},
	}}
	defer web.CloseIdleConnections()
	began := time.Now()
	for range requests {
		if err := get(ctx, web); err != nil {
			fmt.Println(at.machine, err)
			failed++
		}
	}
	fmt.Printf("%s answered %d of %d requests, %v each\n", at.machine, requests-failed, requests, time.Since(began)/requests)
	return failed
}

// answers waits until the machine's engine does: it starts beside the agent.
func answers(ctx context.Context, engine *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	for {
		_, err := engine.Ping(ctx, client.PingOptions{})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the engine does not answer: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, c *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://machine/healthz", nil)
	if err != nil {
		return err
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /healthz answered %s", res.Status)
	}
	return nil
}

// start runs the image there.
func (s *stand) start(ctx context.Context, id string, engine *client.Client) (*site, error) {
	binary, err := image.Compile(ctx, module+"/test/images/web")
	if err != nil {
		return nil, err
	}
	built, err := image.Assemble(binary, image.Config{Env: map[string]string{"VERSION": "v1"}})
	if err != nil {
		return nil, err
	}
	if _, err := image.Load(ctx, engine, imageName, built); err != nil {
		return nil, err
	}
	made, err := engine.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{Image: imageName}, Name: "web"})
	if err != nil {
		return nil, err
	}
	if _, err := engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return nil, err
	}
	seen, err := engine.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range seen.Container.NetworkSettings.Networks {
		if n.IPAddress != (netip.Addr{}) {
			return &site{
				machine: id, container: made.ID, started: seen.Container.State.StartedAt,
				address: net.JoinHostPort(n.IPAddress.String(), webPort),
			}, nil
		}
	}
	return nil, errors.New("the container has no address")
}

// removed deletes the machines and tells what is left of any.
func (s *stand) removed(ctx context.Context, ids []string) (left []string, err error) {
	own, err := infra.ListAll(ctx, s.infra, s.owner) // others make machines on this host, too
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		for {
			err := s.shard.Manager.DeleteInstanceFor(ctx, tenant, id)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return append(left, id), err
			}
			fmt.Println(id, "is asked to go:", err)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
	machines, err := infra.ListAll(ctx, s.infra, s.owner)
	for _, m := range machines {
		left = append(left, "machine "+m.InstanceID+" is "+string(m.Status))
	}
	folders, err2 := filepath.Glob(filepath.Join(s.dir, "machines", "*", "nod*"))
	for _, f := range folders {
		left = append(left, "folder "+f)
	}
	for _, m := range own {
		_, err := os.Stat(filepath.Join("/run/netns", m.ProviderInstanceID))
		if err == nil {
			left = append(left, "network namespace "+m.ProviderInstanceID)
		} else if !errors.Is(err, fs.ErrNotExist) {
			err2 = errors.Join(err2, err)
		}
	}
	return left, errors.Join(err, err2)
}
