package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/store"
)

func releaseTests() []test {
	return []test{
		{"IsNumberedPerService", releaseNumbers},
		{"SameIdentityAndNonceAsTheNewestIsReturned", releaseIdempotent},
		{"IsListedNewestFirst", releaseList},
		{"NeverChanges", releaseImmutable},
		{"OfNoServiceIsRefused", releaseNameless},
		{"UnknownIsNotFound", releaseUnknown},
	}
}

func release(service, resolved, nonce string) store.Release {
	return store.Release{Service: service, AppID: "shop", Image: "web:1", Resolved: resolved, Nonce: nonce, CreatedAt: at(0)}
}

func (e *env) release(r store.Release) store.Release {
	e.Helper()
	return must[store.Release](e)(e.s.CreateRelease(e.ctx, r))
}

func releaseNumbers(e *env) {
	for i := 1; i <= 3; i++ {
		r := e.release(release("shop-web", "web@sha256:aa", fmt.Sprint("n", i)))
		same(e, "version", r.Version, int64(i))
		same(e, "id", r.ID, fmt.Sprintf("shop-web-v%d", i))
	}
	same(e, "other service", e.release(release("shop-api", "web@sha256:aa", "n1")).ID, "shop-api-v1")
	e.reopen()
	asked := release("shop-web", "web@sha256:aa", "n4")
	asked.ID, asked.Version = "mine", 77
	same(e, "after a restart, whatever was asked", e.release(asked).ID, "shop-web-v4")
}

func releaseIdempotent(e *env) {
	first := e.release(release("shop-web", "web@sha256:aa", "n1"))
	local := func(id string) store.Release {
		r := release("shop-web", "", "n9")
		r.Local, r.ImageID = true, id
		return r
	}
	for _, tc := range []struct {
		name string
		r    store.Release
		want string
	}{
		{"same again", release("shop-web", "web@sha256:aa", "n1"), first.ID},
		{"other nonce", release("shop-web", "web@sha256:aa", "n2"), "shop-web-v2"},
		{"other image", release("shop-web", "web@sha256:bb", "n2"), "shop-web-v3"},
		{"same as the newest", release("shop-web", "web@sha256:bb", "n2"), "shop-web-v3"},
		{"same as an older one", release("shop-web", "web@sha256:aa", "n1"), "shop-web-v4"},
		{"local image", local("sha256:11"), "shop-web-v5"},
		{"local image again", local("sha256:11"), "shop-web-v5"},
		{"local image built anew", local("sha256:22"), "shop-web-v6"},
	} {
		e.Run(tc.name, func(t *testing.T) {
			sub := &env{T: t, s: e.s, ctx: t.Context()}
			same(sub, "id", sub.release(tc.r).ID, tc.want)
		})
	}
}

func releaseList(e *env) {
	for i := range 5 {
		e.release(release("shop-web", "web@sha256:aa", fmt.Sprint(i)))
		e.release(release("shop-api", "web@sha256:aa", fmt.Sprint(i)))
	}
	for limit, want := range map[int][]int64{0: {5, 4, 3, 2, 1}, 2: {5, 4}, 9: {5, 4, 3, 2, 1}} {
		var got []int64
		for _, r := range must[[]store.Release](e)(e.s.ListReleases(e.ctx, "shop-web", limit)) {
			got = append(got, r.Version)
			same(e, "service", r.Service, "shop-web")
		}
		if !slices.Equal(got, want) {
			e.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
}

func releaseImmutable(e *env) {
	first := e.release(release("shop-web", "web@sha256:aa", "n1"))
	again := release("shop-web", "web@sha256:aa", "n1")
	again.CreatedAt, again.SpecHash, again.AttemptID = at(50), "other", 9
	got := e.release(again)
	same(e, "created", got.CreatedAt, first.CreatedAt)
	same(e, "hash", got.SpecHash, first.SpecHash)
	same(e, "attempt", must[store.Release](e)(e.s.GetRelease(e.ctx, first.ID)).AttemptID, first.AttemptID)
}

func releaseNameless(e *env) {
	if _, err := e.s.CreateRelease(e.ctx, release("", "web@sha256:aa", "n1")); err == nil {
		e.Error("a release of no service was accepted")
	}
}

func releaseUnknown(e *env) {
	_, err := e.s.GetRelease(e.ctx, "shop-web-v1")
	e.is(err, store.ErrNotFound)
	same(e, "listed", len(must[[]store.Release](e)(e.s.ListReleases(e.ctx, "shop-web", 0))), 0)
}
