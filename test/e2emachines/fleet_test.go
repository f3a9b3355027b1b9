package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

// nodes are the machines of a stand as a fleet's members.
type nodes struct {
	s       *stand
	engines map[string]*engine.Client
}

func (n *nodes) Members() []fleet.Member {
	var out []fleet.Member
	for id := range n.engines {
		out = append(out, fleet.Member{ID: id, Online: n.s.shard.Hub.Online(id)})
	}
	return out
}

func (n *nodes) Engine(id string) (docker.Runtime, error) {
	if c := n.engines[id]; c != nil {
		return c, nil
	}
	return nil, errors.New("unknown machine")
}

func (n *nodes) Dial(ctx context.Context, id, address string) (net.Conn, error) {
	return n.s.shard.Hub.Dial(ctx, id, wire.KindAddress, address)
}

// An image that only this host's engine has is copied to a machine through its agent,
// runs there on the app's network, and is reached through the fleet.
func TestAnImageOfThisHostRunsOnAMachine(t *testing.T) {
	switch _, err := exec.LookPath("dockerd"); {
	case os.Getenv("BERTH_TEST_DOCKER") == "":
		t.Skip("BERTH_TEST_DOCKER is not set: this makes machines with engines of their own")
	case os.Geteuid() != 0:
		t.Skip("namespaces need root")
	case err != nil:
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	socket := testimage.Socket(t)
	o := defaults()
	o.pool, o.address, o.machines = "10.235.0.0/20", "10.235.240.1", 1
	s, err := newStand(ctx, o)
	must(t, err)
	t.Cleanup(func() { must(t, s.close()) })
	id := machineOf(ctx, t, s)
	local := clientOf(t, engine.Options{Host: socket})
	there := clientOf(t, engine.Options{Host: id, Dial: func(ctx context.Context) (net.Conn, error) {
		return s.shard.Hub.Dial(ctx, id, wire.KindEngine, "")
	}})
	until(ctx, t, func() error { _, err := there.Info(ctx); return err })
	f := fleet.New(fleet.Options{Local: local, Members: &nodes{s, map[string]*engine.Client{id: there}}, Instance: "e2e-fleet"})
	t.Cleanup(f.Close)
	rt := f.For(store.Placement{AppID: "shop", Nodes: []string{id}})

	var tag [4]byte
	_, _ = rand.Read(tag[:])
	name := "berth-e2efleet-" + hex.EncodeToString(tag[:])
	ref := testimage.Build(t, socket, "probe", testimage.Label("of", name))
	t.Cleanup(func() { testimage.Remove(t, socket, ref) })
	mine, err := local.Image(ctx, ref)
	must(t, err)
	if _, err := rt.Image(ctx, ref); !docker.IsImageNotFound(err) {
		t.Fatalf("before the copy: %v", err)
	}
	var steps []docker.PullProgress
	must(t, rt.Pull(ctx, ref, nil, func(p docker.PullProgress) { steps = append(steps, p) }))
	img, err := there.Image(ctx, ref)
	if err != nil || img.ID != mine.ID || !slices.Contains(img.Tags, ref) || len(steps) == 0 {
		t.Fatalf("the machine has %+v, %v, after %d steps", img, err, len(steps))
	}
	labels := map[string]string{docker.LabelInstance: "e2e-fleet", docker.LabelApp: "shop", docker.LabelService: name}
	subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 236, tag[0], 0}), 24)
	_, err = rt.CreateNetwork(ctx, docker.NetworkSpec{Name: name, Subnet: subnet, Labels: labels})
	must(t, err)
	t.Cleanup(func() {
		if err := local.RemoveNetwork(context.WithoutCancel(ctx), name); err != nil {
			t.Error(err)
		}
	})
	address := subnet.Addr().Next().Next()
	_, err = rt.Create(ctx, docker.ContainerSpec{
		Name: name, Image: mine.ID, Command: []string{"out:here", "listen:8080", "wait"}, Labels: labels,
		Network: docker.NetworkAttachment{Network: name, Address: address},
	})
	must(t, err)
	must(t, rt.Start(ctx, name))
	list, err := f.All().List(ctx, map[string]string{docker.LabelService: name})
	if err != nil || len(list) != 1 || list[0].Node != id || !list[0].Running() || list[0].ImageID != mine.ID || list[0].Address != address {
		t.Fatalf("listed %+v, %v", list, err)
	}
	until(ctx, t, func() error {
		conn, err := f.DialContext(ctx, "tcp", netip.AddrPortFrom(address, 8080).String())
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	if code, err := f.All().Exec(ctx, name, docker.ExecSpec{Command: []string{"/probe", "exit:7"}}); code != 7 || err != nil {
		t.Errorf("a command ended with %d, %v", code, err)
	}
	if err := rt.RemoveNetwork(ctx, name); !docker.IsConflict(err) {
		t.Errorf("the network of a running container: %v", err)
	}
	must(t, rt.Stop(ctx, name, 0))
	must(t, rt.Remove(ctx, name))
	must(t, rt.RemoveNetwork(ctx, name))
	for what, e := range map[string]docker.Runtime{"this host": local, "the machine": there} {
		if left, err := e.ListNetworks(ctx, map[string]string{docker.LabelService: name}); err != nil || len(left) > 0 {
			t.Errorf("%s has %+v, %v", what, left, err)
		}
	}
}

// machineOf makes a machine that is deleted in the end, and waits until it joined.
func machineOf(ctx context.Context, t *testing.T, s *stand) string {
	made, err := s.shard.Manager.CreateInstance(ctx, instances.CreateInstanceRequest{Tenant: tenant, Group: group})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		left, err := s.removed(ctx, []string{made.InstanceID})
		must(t, err)
		for _, l := range left {
			if !strings.HasPrefix(l, "network namespace") { // which may be another run's
				t.Error("leaked:", l)
			}
		}
	})
	must(t, s.joined(ctx, made.InstanceID))
	return made.InstanceID
}

func clientOf(t *testing.T, o engine.Options) *engine.Client {
	c, err := engine.New(o)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// until tries again and again, for as long as a machine may take to get ready.
func until(ctx context.Context, t *testing.T, try func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
