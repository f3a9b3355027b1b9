package hostdirtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
)

var errCut = errors.New("cut here")

// cutAt ends the provider's calls before their k-th effect, counted from 1, and
// notes the effects that it sees.
func cutAt(p Provider, k int) (seen *[]string) {
	seen = &[]string{}
	p.CutBefore(func(effect string) error {
		if *seen = append(*seen, effect); len(*seen) == k {
			return errCut
		}
		return nil
	})
	return seen
}

// gone deletes a machine, and looks for what is left of it. One that was never seen
// has no provider's id.
func (b Bench) gone(ctx context.Context, t testing.TB, instanceID, providerID string, seen []string) {
	t.Helper()
	Gone(ctx, t, b.Open(), instanceID)
	if n := b.Count(instanceID); n != 0 {
		t.Errorf("not found after a cut before %v, and there are %d of it", seen, n)
	}
	if providerID == "" {
		return
	}
	for _, left := range b.Left(providerID) {
		t.Errorf("left after a cut before %v: %s", seen, left)
	}
}

// CutCreates cuts a create before each of its effects, and then makes it again: there
// is one machine, the one that the first began.
func CutCreates(t *testing.T, b Bench) {
	ctx := Patient(t)
	for k := 1; ; k++ {
		req := Request(b.Owner, "")
		dying := b.Open()
		seen := cutAt(dying, k)
		made, err := dying.CreateInstance(ctx, req)
		if err == nil {
			all(t, "create", *seen, b.Creates)
			b.gone(ctx, t, req.InstanceID, made.ProviderInstanceID, *seen)
			return
		}
		if !errors.Is(err, errCut) || !infra.PerhapsCreated(err) {
			t.Fatalf("cut before %v: %v", *seen, err)
		}
		next := b.Open()
		before, err := next.GetInstanceStatus(ctx, req.InstanceID, "")
		if err != nil && !infra.IsNotFound(err) {
			t.Fatalf("status after a cut before %v: %v", *seen, err)
		}
		if made, err = next.CreateInstance(ctx, req); err != nil {
			t.Fatalf("create after a cut before %v: %v", *seen, err)
		}
		if before != nil && before.ProviderInstanceID != made.ProviderInstanceID {
			t.Errorf("a cut before %v, and then another machine: %s, %s", *seen, before.ProviderInstanceID, made.ProviderInstanceID)
		}
		b.Running(ctx, next, req.InstanceID)
		if n := b.Count(req.InstanceID); n != 1 {
			t.Errorf("%d machines after a cut before %v", n, *seen)
		}
		b.gone(ctx, t, req.InstanceID, made.ProviderInstanceID, *seen)
	}
}

// CutCreatesThatNobodyRepeats cuts a create before each of its effects, and then
// deletes the machine: nothing is left.
func CutCreatesThatNobodyRepeats(t *testing.T, b Bench) {
	ctx := Patient(t)
	for k := 1; ; k++ {
		req := Request(b.Owner, "")
		dying := b.Open()
		seen := cutAt(dying, k)
		_, err := dying.CreateInstance(ctx, req)
		whole := err == nil
		inst, err := b.Open().GetInstanceStatus(ctx, req.InstanceID, "")
		if err != nil && !infra.IsNotFound(err) {
			t.Fatal(err)
		}
		var providerID string
		if inst != nil {
			providerID = inst.ProviderInstanceID
		}
		b.gone(ctx, t, req.InstanceID, providerID, *seen)
		if whole {
			return
		}
	}
}

// CutDeletes cuts a delete before each of its effects. Once it is marked nobody gets
// the machine back, and looks are enough for it to go.
func CutDeletes(t *testing.T, b Bench) {
	ctx := Patient(t)
	for k := 1; ; k++ {
		req := Request(b.Owner, "")
		dying := b.Open()
		made, err := dying.CreateInstance(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		b.Running(ctx, dying, req.InstanceID)
		seen := cutAt(dying, k)
		err = dying.DeleteInstance(ctx, req.InstanceID, "")
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		next := b.Open()
		if err != nil && k > 1 {
			if _, err := next.CreateInstance(ctx, req); !infra.IsConflict(err) {
				t.Errorf("create after a delete that was cut before %v: %v, not ErrConflict", *seen, err)
			}
			goes(ctx, t, next, req.InstanceID, *seen)
		}
		b.gone(ctx, t, req.InstanceID, made.ProviderInstanceID, *seen)
		if err == nil {
			all(t, "delete", *seen, b.Deletes)
			return
		}
	}
}

// goes looks at a machine until it is gone.
func goes(ctx context.Context, t testing.TB, p infra.Provider, instanceID string, seen []string) {
	t.Helper()
	for {
		_, err := p.GetInstanceStatus(ctx, instanceID, "")
		if infra.IsNotFound(err) {
			return
		}
		if !Pause(ctx) {
			t.Fatalf("it does not go by looks alone after a cut before %v: %v", seen, err)
		}
	}
}

// all checks the effects of a call that went to its end.
func all(t testing.TB, what string, seen, want []string) {
	t.Helper()
	t.Logf("cut before each of %d effects: %v", len(seen), seen)
	if !slices.Equal(seen, want) {
		t.Errorf("a %s does %v, not %v", what, seen, want)
	}
}
