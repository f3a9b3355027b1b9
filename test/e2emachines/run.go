package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	for _, id := range ids {
		failed, err := s.serves(ctx, id)
		r.failed += failed
		if err != nil {
			return r, fmt.Errorf("%s: %w", id, err)
		}
	}
	return r, nil
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

// serves runs a container on the machine and asks it, all through the agent.
func (s *stand) serves(ctx context.Context, id string) (failed int, err error) {
	engine, err := client.New(client.WithHost("tcp://machine:1"), client.WithDialContext(s.shard.Hub.Dialer(id, wire.KindEngine)))
	if err != nil {
		return 0, err
	}
	defer engine.Close()
	if err := answers(ctx, engine); err != nil {
		_, why := s.shard.Hub.Dial(ctx, id, wire.KindEngine, "")
		return 0, errors.Join(err, why)
	}
	addr, err := s.start(ctx, engine)
	if err != nil {
		return 0, err
	}
	web := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return s.shard.Hub.Dialer(id, wire.KindAddress)(ctx, network, addr)
		},
	}}
	defer web.CloseIdleConnections()
	began := time.Now()
	for range requests {
		if err := get(ctx, web); err != nil {
			fmt.Println(id, err)
			failed++
		}
	}
	fmt.Printf("%s answered %d of %d requests, %v each\n", id, requests-failed, requests, time.Since(began)/requests)
	return failed, ctx.Err()
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

// start runs the image there and waits until it listens.
func (s *stand) start(ctx context.Context, engine *client.Client) (string, error) {
	binary, err := image.Compile(ctx, module+"/test/images/web")
	if err != nil {
		return "", err
	}
	built, err := image.Assemble(binary, image.Config{Env: map[string]string{"VERSION": "v1"}})
	if err != nil {
		return "", err
	}
	if _, err := image.Load(ctx, engine, imageName, built); err != nil {
		return "", err
	}
	made, err := engine.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{Image: imageName}, Name: "web"})
	if err != nil {
		return "", err
	}
	if _, err := engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return "", err
	}
	seen, err := engine.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{})
	if err != nil {
		return "", err
	}
	for _, n := range seen.Container.NetworkSettings.Networks {
		if n.IPAddress != (netip.Addr{}) {
			return net.JoinHostPort(n.IPAddress.String(), webPort), nil
		}
	}
	return "", errors.New("the container has no address")
}

// removed deletes the machines and tells what is left of any.
func (s *stand) removed(ctx context.Context, ids []string) (left []string, err error) {
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
	spaces, err3 := os.ReadDir("/run/netns")
	for _, n := range spaces {
		if len(ids) > 0 && len(n.Name()) > 6 && n.Name()[:6] == "berth-" {
			left = append(left, "network namespace "+n.Name())
		}
	}
	if os.IsNotExist(err3) {
		err3 = nil
	}
	return left, errors.Join(err, err2, err3)
}
