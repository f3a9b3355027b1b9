package storetest

import (
	"testing"

	"github.com/berth-cloud/berth/internal/store"
)

func domainTests() []test {
	return []test{
		{"DomainAndPathBelongToOneService", domainOwner},
		{"DomainMovesBetweenServicesOfOneChange", domainMoves},
		{"DomainIsFreeAfterItsServiceGaveItUp", domainGivenUp},
		{"RefusedChangeKeepsTheClaimsAsTheyWere", domainRefused},
	}
}

func routed(app, name, path string, domains ...string) store.DesiredService {
	d := svc(app, name, domains...)
	d.Spec.Path = path
	return d
}

func domainOwner(e *env) {
	e.apply(applying("shop", routed("shop", "web", "", "shop.example", "www.shop.example"), routed("shop", "api", "/api", "shop.example")))
	for _, tc := range []struct {
		name  string
		d     store.DesiredService
		taken bool
	}{
		{"by another app", routed("blog", "web", "", "shop.example"), true},
		{"by another app among free ones", routed("blog", "web", "", "blog.example", "www.shop.example"), true},
		{"by another service of the app", routed("shop", "new", "", "shop.example"), true},
		{"root path spelled out", routed("blog", "web", "/", "shop.example"), true},
		{"same path", routed("blog", "web", "/api", "shop.example"), true},
		{"same path with a slash at its end", routed("blog", "web", "/api/", "shop.example"), true},
		{"host in capitals", routed("blog", "web", "", "Shop.Example"), true},
		{"another path", routed("blog", "web", "/blog", "shop.example"), false},
		{"a path below", routed("docs", "web", "/api/docs", "shop.example"), false},
		{"another host", routed("news", "web", "", "news.example"), false},
		{"its own again", routed("shop", "web", "", "shop.example", "shop.example"), false},
	} {
		e.Run(tc.name, func(t *testing.T) {
			sub := &env{T: t, s: e.s, ctx: t.Context()}
			if !tc.taken {
				sub.apply(applying(tc.d.AppID, tc.d))
				return
			}
			err := sub.applyErr(applying(tc.d.AppID, tc.d))
			sub.is(err, store.ErrDomainTaken)
			sub.says(err, "shop.example", "shop-")
			_, err = sub.s.GetDesiredService(sub.ctx, tc.d.Name)
			sub.is(err, store.ErrServiceNotFound)
		})
	}
}

func domainMoves(e *env) {
	e.apply(applying("shop", svc("shop", "a", "one.example"), svc("shop", "b", "two.example")))
	e.apply(applying("shop", svc("shop", "a", "two.example"), svc("shop", "b", "one.example")))
	c := applying("shop", svc("shop", "c", "two.example"))
	c.Delete = []string{"shop-a"}
	e.apply(c)
	e.is(e.applyErr(applying("shop", svc("shop", "d", "two.example"))), store.ErrDomainTaken)
	e.is(e.applyErr(applying("shop", svc("shop", "d", "one.example"))), store.ErrDomainTaken)
}

func domainGivenUp(e *env) {
	e.apply(applying("shop", svc("shop", "a", "one.example"), svc("shop", "b", "two.example")))
	e.apply(applying("shop", svc("shop", "a")))
	e.apply(deleting("shop", "shop-b"))
	e.apply(applying("blog", svc("blog", "web", "one.example", "two.example")))
}

func domainRefused(e *env) {
	e.apply(applying("shop", svc("shop", "a", "one.example")))
	e.apply(applying("blog", svc("blog", "web", "two.example")))
	e.is(e.applyErr(applying("shop", svc("shop", "a", "three.example", "two.example"))), store.ErrDomainTaken)
	e.is(e.applyErr(applying("blog", svc("blog", "web", "one.example"))), store.ErrDomainTaken)
	e.apply(applying("blog", svc("blog", "web", "three.example")))
}
