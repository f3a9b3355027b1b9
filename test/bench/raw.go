package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/test/images/image"
)

const (
	program = "github.com/berth-cloud/berth/test/images/web"
	ref     = prefix + ":bench"
	port    = 8080 // that the program listens on
)

// raw starts containers with the engine's own calls and nothing else. What it
// makes is kept to the least: no limits, no volumes, an address that is said at
// creation so that no call is needed to find it.
type raw struct {
	engine  *client.Client
	network string
	subnet  netip.Prefix
}

// newRaw loads the image and makes a network at the end of the pool.
func newRaw(ctx context.Context, o options) (*raw, error) {
	pool, err := netip.ParsePrefix(o.pool)
	if err != nil || pool.Bits() != 16 || !pool.Addr().Is4() {
		return nil, fmt.Errorf("network pool %s is not an IPv4 /16", o.pool)
	}
	a := pool.Masked().Addr().As4()
	a[2] = 255
	engine, err := image.Connect(o.docker)
	if err != nil {
		return nil, err
	}
	r := &raw{engine: engine, network: prefix + "-raw", subnet: netip.PrefixFrom(netip.AddrFrom4(a), 24)}
	if err := loadImage(ctx, engine); err != nil {
		return r, err
	}
	_, err = engine.NetworkCreate(ctx, r.network, client.NetworkCreateOptions{
		Driver: "bridge", IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{{Subnet: r.subnet}}},
	})
	return r, err
}

// loadImage gives the engine the image that everything here runs.
func loadImage(ctx context.Context, engine *client.Client) error {
	binary, err := image.Compile(ctx, program)
	if err != nil {
		return err
	}
	img, err := image.Assemble(binary, image.Config{})
	if err != nil {
		return err
	}
	_, err = image.Load(ctx, engine, ref, img)
	return err
}

// deploy creates and starts a container and waits for its first good answer.
func (r *raw) deploy(ctx context.Context, version string, one *stepsOfOne) (took time.Duration, err error) {
	name := prefix + "-raw-" + version
	addr := r.subnet.Addr().Next().Next()
	site := newSite(fmt.Sprintf("http://%s:%d/healthz", addr, port), "")
	defer site.close()
	defer func() { err = errors.Join(err, r.remove(name)) }()
	begun := time.Now()
	_, err = r.engine.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name:       name,
		Config:     &container.Config{Image: ref, Env: []string{"VERSION=" + version}},
		HostConfig: &container.HostConfig{NetworkMode: container.NetworkMode(r.network)},
		NetworkingConfig: &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{
			r.network: {IPAMConfig: &network.EndpointIPAMConfig{IPv4Address: addr}},
		}},
	})
	if err != nil {
		return 0, err
	}
	one.note("raw: created", time.Since(begun))
	if _, err := r.engine.ContainerStart(ctx, name, client.ContainerStartOptions{}); err != nil {
		return 0, err
	}
	one.note("raw: started", time.Since(begun))
	if err := site.await(ctx, version); err != nil {
		return 0, err
	}
	took = time.Since(begun)
	one.note("raw: served", took)
	return took, nil
}

func (r *raw) remove(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	return removeContainer(ctx, r.engine, name)
}

func removeContainer(ctx context.Context, engine *client.Client, name string) error {
	_, err := engine.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true})
	return unlessGone(err)
}

// unlessGone drops the error of removing what is not there.
func unlessGone(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// settled waits until the instance has one container: nothing of the old
// release then weighs on what is measured next.
func (r *raw) settled(ctx context.Context, instance string) error {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	ours := client.Filters{}.Add("label", docker.LabelInstance+"="+instance)
	for {
		have, err := r.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: ours})
		if err != nil {
			return err
		}
		if len(have.Items) <= 1 {
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%d containers are left after a deploy", len(have.Items))
		}
	}
}

// clean sweeps, once nobody needs the client any more.
func (r *raw) clean(instance string) error {
	if r == nil {
		return nil
	}
	return errors.Join(sweep(r.engine, instance), r.engine.Close())
}

// sweep removes every container and network of this benchmark and of the owner
// with the instance id, whatever state a failure left them in, and the image.
func sweep(engine *client.Client, instance string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	var errs []error
	all, err := engine.ContainerList(ctx, client.ContainerListOptions{All: true})
	errs = append(errs, err)
	var left []string
	for _, c := range all.Items {
		if ours := instance != "" && c.Labels[docker.LabelInstance] == instance; ours || strings.HasPrefix(strings.Join(c.Names, ""), "/"+prefix) {
			left = append(left, c.ID)
		}
	}
	failed := make([]error, len(left)) // one that cannot be removed keeps none of the others
	_ = atOnce(ctx, len(left), leaving, func(ctx context.Context, i int) error {
		failed[i] = removeContainer(ctx, engine, left[i])
		return nil
	})
	errs = append(errs, failed...)
	nets, err := engine.NetworkList(ctx, client.NetworkListOptions{})
	errs = append(errs, err)
	for _, n := range nets.Items {
		if strings.HasPrefix(n.Name, prefix) {
			_, err := engine.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{})
			errs = append(errs, unlessGone(err))
		}
	}
	_, err = engine.ImageRemove(ctx, ref, client.ImageRemoveOptions{Force: true})
	return errors.Join(append(errs, unlessGone(err))...)
}
