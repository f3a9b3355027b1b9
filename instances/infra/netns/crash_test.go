package netns_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns"
)

var errCut = errors.New("cut here")

// light are machines with an engine that only answers, for tests of all else.
func light(t testing.TB) func(c *netns.Config) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stub := filepath.Join(t.TempDir(), stubEngine)
	if err := os.Symlink(self, stub); err != nil {
		t.Fatal(err)
	}
	return func(c *netns.Config) { c.Engine = stub }
}

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// cutAt ends the provider's calls before their k-th effect, counted from 1, and
// notes the effects that it sees.
func cutAt(p *netns.Provider, k int) (seen *[]string) {
	seen = &[]string{}
	p.CutBefore(func(effect string) error {
		if *seen = append(*seen, effect); len(*seen) == k {
			return errCut
		}
		return nil
	})
	return seen
}

func TestACreateThatWasCutAnywhereConvergesOnOneMachine(t *testing.T) {
	b := newBench(t, light(t))
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		seen := cutAt(dying, k)
		_, err := dying.CreateInstance(ctx, req)
		if err == nil {
			t.Logf("cut before each of %d effects: %v", k-1, *seen)
			if k-1 < 8 || !slices.Contains(*seen, "launch") {
				t.Error("that is not all that a create does")
			}
			b.gone(ctx, b.open(owner), req.InstanceID)
			return
		}
		if !errors.Is(err, errCut) || !infra.PerhapsCreated(err) {
			t.Fatalf("cut before %v: %v", *seen, err)
		}
		next := b.open(owner)
		before, err := next.GetInstanceStatus(ctx, req.InstanceID, "")
		if err != nil && !infra.IsNotFound(err) {
			t.Fatalf("status after a cut before %v: %v", *seen, err)
		}
		made, err := next.CreateInstance(ctx, req)
		if err != nil {
			t.Fatalf("create after a cut before %v: %v", *seen, err)
		}
		if before != nil && before.ProviderInstanceID != made.ProviderInstanceID {
			t.Errorf("a cut before %v, and then another machine: %s, %s", *seen, before.ProviderInstanceID, made.ProviderInstanceID)
		}
		b.running(ctx, next, req.InstanceID)
		if n := b.count(req.InstanceID); n != 1 {
			t.Errorf("%d machines after a cut before %v", n, *seen)
		}
		b.gone(ctx, next, req.InstanceID)
		for _, left := range leftOf(made.ProviderInstanceID) {
			t.Errorf("left after a cut before %v: %s", *seen, left)
		}
	}
}

// A create that is never made again leaves nothing either.
func TestADeleteTakesAwayWhatACutCreateLeft(t *testing.T) {
	b := newBench(t, light(t))
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		seen := cutAt(dying, k)
		if _, err := dying.CreateInstance(ctx, req); err == nil {
			b.gone(ctx, b.open(owner), req.InstanceID)
			return
		}
		next := b.open(owner)
		inst, err := next.GetInstanceStatus(ctx, req.InstanceID, "")
		if err != nil && !infra.IsNotFound(err) {
			t.Fatal(err)
		}
		b.gone(ctx, next, req.InstanceID)
		if _, err := os.Stat(filepath.Join(b.home(owner), req.InstanceID)); err == nil {
			t.Errorf("a folder is left after a cut before %v", *seen)
		}
		if inst != nil {
			for _, left := range leftOf(inst.ProviderInstanceID) {
				t.Errorf("left after a cut before %v: %s", *seen, left)
			}
		}
	}
}

func TestADeleteThatWasCutAnywhereGoesOn(t *testing.T) {
	b := newBench(t, light(t), func(c *netns.Config) { c.ConnectMachines = canForward() })
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		made, err := dying.CreateInstance(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		b.running(ctx, dying, req.InstanceID)
		seen := cutAt(dying, k)
		err = dying.DeleteInstance(ctx, req.InstanceID, "")
		if err == nil {
			t.Logf("cut before each of %d effects: %v", k-1, *seen)
			b.gone(ctx, b.open(owner), req.InstanceID)
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		next := b.open(owner)
		if k > 1 { // it is marked: nobody gets it back, and a look is enough for it to go
			if _, err := next.CreateInstance(ctx, req); !infra.IsConflict(err) {
				t.Errorf("create after a delete that was cut before %v: %v, not ErrConflict", *seen, err)
			}
			until(ctx, t, "it goes by looks alone", func() bool {
				_, err := next.GetInstanceStatus(ctx, req.InstanceID, "")
				return infra.IsNotFound(err)
			})
		}
		b.gone(ctx, next, req.InstanceID)
		for _, left := range leftOf(made.ProviderInstanceID) {
			t.Errorf("left after a cut before %v: %s", *seen, left)
		}
	}
}

// The launcher is another process, which may be killed at its own moments.
func TestALauncherThatWasKilledLeavesNoSecondMachine(t *testing.T) {
	for _, command := range []string{unrecordedCommand, heldCommand} {
		t.Run(command, func(t *testing.T) {
			b := newBench(t, light(t))
			ctx := patient(t)
			req := request("#cloud-config\nwrite_files:\n- {path: /var/lib/berth/x, content: one}\n")
			broken := *b
			broken.config.Program = []string{b.config.Program[0], command}
			if inst, err := broken.open(owner).CreateInstance(ctx, req); !errors.Is(err, infra.ErrAmbiguous) {
				t.Fatalf("a create whose launcher was killed: %v, %v, not ErrAmbiguous", inst, err)
			}
			p := b.open(owner)
			inst, err := p.GetInstanceStatus(ctx, req.InstanceID, "")
			if err != nil || inst.Status != infra.StatusPending {
				t.Fatalf("%v, %v, not pending", inst, err)
			}
			if _, err := p.CreateInstance(ctx, req); err != nil {
				t.Fatal(err)
			}
			b.running(ctx, p, req.InstanceID)
			if n := len(firstProcesses(filepath.Join(b.home(owner), req.InstanceID))); n != 1 {
				t.Errorf("%d first processes", n)
			}
		})
	}
}

func TestAMachineWhoseStoreIsAwayIsNotTakenForGone(t *testing.T) {
	b := newBench(t, light(t))
	ctx := patient(t)
	p, req := b.open(owner), request("")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	away := b.config.Dir + ".away"
	if err := os.Rename(b.config.Dir, away); err != nil {
		t.Fatal(err)
	}
	_, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
	deleteErr := p.DeleteInstance(ctx, req.InstanceID, "")
	_, listErr := p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard})
	_, createErr := p.CreateInstance(ctx, req)
	if err := os.Rename(away, b.config.Dir); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"status": statusErr, "delete": deleteErr, "list": listErr, "create": createErr} {
		if !errors.Is(err, infra.ErrUnavailable) {
			t.Errorf("%s without the folder: %v, not ErrUnavailable", what, err)
		}
	}
}

func TestARecordThatCannotBeReadIsNoAnswer(t *testing.T) {
	b := newBench(t, light(t))
	ctx := patient(t)
	p, req := b.open(owner), request("")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(b.home(owner), req.InstanceID, "machine.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	_, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
	deleteErr := p.DeleteInstance(ctx, req.InstanceID, "")
	_, listErr := p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard})
	_, createErr := p.CreateInstance(ctx, req)
	if err := os.WriteFile(name, good, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"status": statusErr, "delete": deleteErr, "list": listErr, "create": createErr} {
		if !errors.Is(err, infra.ErrUnavailable) {
			t.Errorf("%s with half a record: %v, not ErrUnavailable", what, err)
		}
	}
	b.running(ctx, p, req.InstanceID)
}
