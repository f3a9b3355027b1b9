package dockerprovider

import (
	"fmt"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// story is a workload's life, in which the process dies once at most: whoever
// calls makes the call again that failed, with the process that comes after.
type story struct {
	*rig
	k   *killer
	req provider.ProvisionRequest
}

func newStory(t *testing.T, k *killer) *story {
	s := &story{rig: newRig(t), k: k}
	s.process(mortalEngine{s.engine, k}, mortalState{s.state, k}, mortalVault{s.vault, k})
	s.req = request(web("web:1"), side(), provider.ServiceSpec{Name: "prepare", Role: provider.RoleInit, Image: "init:1"})
	s.req.Services[0].Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	s.req.Services[0].ConfigFiles = []provider.ConfigFile{{Name: "app", Path: "/etc/app/conf", Content: "red"}}
	s.req.Network = "shared"
	return s
}

func (s *story) process(rt docker.Runtime, state provider.StateStore, vault secrets.Vault) {
	s.Helper()
	d, err := New(rt, Options{State: state, Vault: vault, Now: s.clock.Now, Prober: simProber{s.engine}, SpawnPull: func(f func()) { f() }})
	s.ok(err)
	s.d = d
}

// call makes a call until the process lives through it.
func (s *story) call(what string, do func() error) {
	s.Helper()
	err := do()
	if s.k.alive() != nil {
		s.process(s.engine, s.state, s.vault)
		s.k.dead = false
		err = do()
	}
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// until steps until the status is as it should be.
func (s *story) until(what string, good func(*provider.InstanceStatus) bool) {
	s.Helper()
	var st *provider.InstanceStatus
	for range 2000 {
		s.call("step", func() error { _, err := s.d.Step(s.Context(), s.req.InstanceID); return err })
		s.clock.Advance(20 * time.Millisecond)
		s.call("status", func() error {
			var err error
			st, err = s.d.Status(s.Context(), s.req.InstanceID)
			return err
		})
		if good(st) {
			return
		}
	}
	s.Fatalf("it did not become %s: %+v", what, st)
}

func (s *story) tell() {
	one := s.req.InstanceID
	ready := func(st *provider.InstanceStatus) bool { return st.Ready }
	s.call("provision", func() error { _, err := s.d.Provision(s.Context(), s.req); return err })
	s.until("ready", ready)
	deploy := provider.DeployRequest{InstanceID: one, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{{
		Name: "web", Image: "web:2", ConfigFiles: []provider.ConfigFile{{Name: "app", Path: "/etc/app/conf", Content: "blue"}},
	}}}
	s.call("deploy", func() error { _, err := s.d.Deploy(s.Context(), deploy); return err })
	s.until("deployed", func(st *provider.InstanceStatus) bool { return st.Ready && st.ReleaseID == deploy.ReleaseID })
	s.call("roll back", func() error { return s.d.Rollback(s.Context(), one, s.req.InitialRelease()) })
	s.until("rolled back", func(st *provider.InstanceStatus) bool { return st.Ready && st.ReleaseID == s.req.InitialRelease() })
	s.same("config file", s.exec(one, "web", "cat", "/etc/app/conf"), "red")
	s.call("stop", func() error { return s.d.Stop(s.Context(), one) })
	s.until("stopped", func(st *provider.InstanceStatus) bool { return st.State == provider.StateStopped })
	s.call("start", func() error { return s.d.Start(s.Context(), one) })
	s.until("ready", ready)
	if n := len(s.containers(one)); n != 2 {
		s.Errorf("%d containers run", n)
	}
	s.call("deprovision", func() error { return s.d.Deprovision(s.Context(), one) })
	if left := s.leftovers(one); len(left) > 0 {
		s.Errorf("left: %v", left)
	}
	nets, err := s.engine.ListNetworks(s.Context(), map[string]string{docker.LabelInstance: DefaultOwner})
	s.ok(err)
	s.same("networks", len(nets), 0)
	keys, err := s.state.List(s.Context(), "")
	s.ok(err)
	s.same("records", len(keys), 0)
	if o := s.engine.WritersOverlap(); len(o) > 0 {
		s.Errorf("two writers: %v", o)
	}
}

func TestProcessThatDiesAtAnyEffectLosesNothing(t *testing.T) {
	whole := newStory(t, &killer{})
	whole.tell()
	effects := whole.k.seen
	for i := 1; i <= effects; i++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", i, after), func(t *testing.T) { newStory(t, &killer{left: i, after: after}).tell() })
		}
	}
	t.Logf("%d effects, each cut before and after", effects)
}
