package api_test

import (
	"context"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// stamped are releases that were made with versions of secrets, by release version
// and key.
type stamped struct {
	api.Store
	versions map[int64]map[string]int64
}

func (s stamped) stamp(r store.Release) store.Release {
	r.Spec = r.Spec.WithSecretVersions(func(ref spec.SecretRef) int64 { return s.versions[r.Version][ref.Key] })
	return r
}

func (s stamped) GetRelease(ctx context.Context, id string) (store.Release, error) {
	r, err := s.Store.GetRelease(ctx, id)
	return s.stamp(r), err
}

func (s stamped) ListReleases(ctx context.Context, service string, limit int) ([]store.Release, error) {
	all, err := s.Store.ListReleases(ctx, service, limit)
	for i := range all {
		all[i] = s.stamp(all[i])
	}
	return all, err
}

func TestThePlanOfARollbackSaysWhichValuesOfSecretsComeBack(t *testing.T) {
	const file = web + "    env:\n      SAME: {secret: true}\n      TOKEN: {secret: true}\n      AGAIN: {secret: TOKEN}\n      TRACE: {secret: true, required: false}\n"
	d := start(t, func(deps *api.Deps) {
		deps.Store = stamped{deps.Store, map[int64]map[string]int64{
			1: {"shop/SAME": 1, "shop/TOKEN": 2},
			2: {"shop/SAME": 1, "shop/TOKEN": 3, "shop/TRACE": 5},
		}}
	})
	c := client.New(d.Socket)
	defer c.Close()
	set := func(name string, values ...string) {
		t.Helper()
		for _, v := range values {
			if _, err := c.SetSecret(t.Context(), "shop", name, []byte(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("SAME", "a")
	set("TOKEN", "a", "b", "c", "d")
	set("TRACE", "a", "b", "c", "d", "e")
	apply(t, d, file)
	apply(t, d, edit(file, "web:1", "web:2"))
	plan := func(release string) wire.ServicePlan {
		t.Helper()
		return rollback(t, d, wire.RollbackRequest{Service: "web", Release: release, DryRun: true}).Plan.Services[0]
	}
	notices := func(got wire.ServicePlan, want ...string) {
		t.Helper()
		want = append([]string{"the app file is not touched; the next apply makes the app what it says"}, want...)
		if !slices.Equal(got.Notices, want) {
			t.Errorf("got  %q\nwant %q", got.Notices, want)
		}
	}
	got := plan("v1")
	changes := []wire.FieldChange{
		{Field: "release", Old: "v2", New: "v1"}, {Field: "image", Old: "a/web:2", New: "a/web:1"},
		{Field: "secret TOKEN", Old: "version 3", New: "version 2"}, {Field: "secret TRACE", Old: "version 5", New: "none"},
	}
	slices.SortFunc(got.Changes[2:], func(a, b wire.FieldChange) int {
		if a.Field < b.Field {
			return -1
		}
		return 1
	})
	if !slices.Equal(got.Changes, changes) {
		t.Errorf("got  %+v\nwant %+v", got.Changes, changes)
	}
	slices.Sort(got.Notices[1:])
	notices(got,
		"secret TOKEN: v1 runs with version 2, which it was made with; the newest, version 4, is not taken",
		"secret TRACE: v1 was made without a value and runs without one; the newest, version 5, is not taken")

	// Values that were deleted do not come back, also where there is a new one.
	for _, name := range []string{"TOKEN", "SAME"} {
		if _, err := c.DeleteSecret(t.Context(), "shop", name, true); err != nil {
			t.Fatal(err)
		}
	}
	set("TOKEN", "e")
	got = plan("v1")
	slices.Sort(got.Notices[1:])
	notices(got,
		"secret SAME: version 1, which v1 was made with, is not kept any more, and no new container of v1 can start",
		"secret TOKEN: version 2, which v1 was made with, is not kept any more, and no new container of v1 can start",
		"secret TRACE: v1 was made without a value and runs without one; the newest, version 5, is not taken")

	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web", Release: "v1"}))
	if got := plan("v1"); got.Action != wire.ActionUnchanged || len(got.Changes)+len(got.Notices) != 0 {
		t.Errorf("where it is: %+v", got)
	}
}
