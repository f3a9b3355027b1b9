package workloads

import (
	"fmt"
	"testing"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

func TestTextsHaveNamesInThePlaceOfIds(t *testing.T) {
	wkl, rol, rel := id.New(id.KindWorkload), id.New(id.KindRollout), id.New(id.KindRelease)
	names := labelsOf(row{ID: wkl, Name: "shop"}, &rollout.Rollout{ID: rol, Number: 3, Release: rel, ReleaseVersion: 2}, nil)
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%w: there is no such thing", provider.ErrNotFound), "there is no such thing"},
		{fmt.Errorf("%w: %w: late", provider.ErrUnavailable, provider.ErrNotReady), "late"},
		{fmt.Errorf("replica 7 of instance %s: %w", wkl, provider.ErrNotFound), "replica 7 of workload shop: not found"},
		{fmt.Errorf("%s has no value", wkl), "workload shop has no value"},
		{fmt.Errorf("container berth-%s-web-0 of %s", wkl, wkl), fmt.Sprintf("container berth-%s-web-0 of workload shop", wkl)},
		{&rollout.BusyError{Workload: wkl, Rollout: rol}, "workload shop: rollout 3 is under way"},
		{fmt.Errorf("release %s is on its way", rel), "release v2 is on its way"},
		{provider.ErrBusy, "another rollout is under way"},
	} {
		if got := names.plain(tc.err.Error()); got != tc.want {
			t.Errorf("%v\n became %q,\n want   %q", tc.err, got, tc.want)
		}
	}
}

func TestAKeyIsNotFoundInsideOfALongerOne(t *testing.T) {
	for text, want := range map[string]bool{
		"no value for shop/TOKEN, which it requires": true,
		"shop/TOKEN":                 true,
		"no value for shop/TOKEN#3":  true,
		"no value for shop/TOKEN_2":  false,
		"no value for my-shop/TOKEN": false,
		"shop/TOKENS and shop/TOKEN": true,
		"":                           false,
	} {
		if got := namesKey(text, "shop/TOKEN"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
