package qemu_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

var errCut = errors.New("cut here")

// cutAt ends the provider's calls before their k-th effect, counted from 1, and
// notes the effects that it sees.
func cutAt(p *qemu.Provider, k int) (seen *[]string) {
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
	b := newBench(t)
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		seen := cutAt(dying, k)
		_, err := dying.CreateInstance(ctx, req)
		if err == nil {
			t.Logf("cut before each of %d effects: %v", k-1, *seen)
			if want := []string{"record", "name", "disk", "seed", "launch", "started"}; !slices.Equal(*seen, want) {
				t.Errorf("a create does %v, not %v", *seen, want)
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
		b.becomes(ctx, next, req.InstanceID, infra.StatusRunning)
		if n := b.count(req.InstanceID); n != 1 {
			t.Errorf("%d machines after a cut before %v", n, *seen)
		}
		b.gone(ctx, next, req.InstanceID)
	}
}

// A create that is never made again leaves nothing either.
func TestADeleteTakesAwayWhatACutCreateLeft(t *testing.T) {
	b := newBench(t)
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		cutAt(dying, k)
		_, err := dying.CreateInstance(ctx, req)
		b.gone(ctx, b.open(owner), req.InstanceID)
		if err == nil {
			return
		}
	}
}

func TestADeleteThatWasCutAnywhereGoesOn(t *testing.T) {
	b := newBench(t)
	ctx := patient(t)
	for k := 1; ; k++ {
		req := request("")
		dying := b.open(owner)
		if _, err := dying.CreateInstance(ctx, req); err != nil {
			t.Fatal(err)
		}
		seen := cutAt(dying, k)
		err := dying.DeleteInstance(ctx, req.InstanceID, "")
		if err == nil {
			t.Logf("cut before each of %d effects: %v", k-1, *seen)
			if want := []string{"mark", "system_powerdown", "quit", "contents", "record"}; !slices.Equal(*seen, want) {
				t.Errorf("a delete does %v, not %v", *seen, want)
			}
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
			for {
				_, err := next.GetInstanceStatus(ctx, req.InstanceID, "")
				if infra.IsNotFound(err) {
					break
				}
				if !pause(ctx) {
					t.Fatalf("it does not go by looks alone after a cut before %v: %v", *seen, err)
				}
			}
		}
		b.gone(ctx, next, req.InstanceID)
	}
}

// unavailable checks that nobody is told anything about a machine.
func unavailable(ctx context.Context, t *testing.T, p *qemu.Provider, req infra.CreateInstanceRequest, spoil, mend func() error) {
	t.Helper()
	if err := spoil(); err != nil {
		t.Fatal(err)
	}
	_, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
	deleteErr := p.DeleteInstance(ctx, req.InstanceID, "")
	_, listErr := p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard})
	_, createErr := p.CreateInstance(ctx, req)
	if err := mend(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"status": statusErr, "delete": deleteErr, "list": listErr, "create": createErr} {
		if !errors.Is(err, infra.ErrUnavailable) {
			t.Errorf("%s: %v, not ErrUnavailable", what, err)
		}
	}
}

func TestAMachineWhoseStoreIsAwayOrCannotBeReadIsNotTakenForGone(t *testing.T) {
	b := newBench(t)
	ctx := patient(t)
	p, req := b.open(owner), request("")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	away := b.config.Dir + ".away"
	unavailable(ctx, t, p, req,
		func() error { return os.Rename(b.config.Dir, away) },
		func() error { return os.Rename(away, b.config.Dir) })
	name := b.file(req.InstanceID, "machine.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	unavailable(ctx, t, p, req,
		func() error { return os.WriteFile(name, good[:len(good)/2], 0o600) },
		func() error { return os.WriteFile(name, good, 0o600) })
	b.becomes(ctx, p, req.InstanceID, infra.StatusRunning)
}
