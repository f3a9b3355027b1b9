package storetest

import (
	"reflect"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func changeTests() []test {
	return []test{
		{"WritesAttemptAndDesiredStateTogether", changeWritesBoth},
		{"GenerationGrowsByOneWithEveryPut", changeGeneration},
		{"PutReplacesEveryField", changeReplaces},
		{"PutWithoutActionIsNotPartOfTheAttempt", changePutWithoutAction},
		{"ChangeOfNoServiceSucceedsAtOnce", changeOfNothing},
		{"AttemptsAreNumberedUpwardsOverRestart", changeNumbers},
		{"ServicesAreListedByNameForOneAppOrAll", changeLists},
		{"UnknownServiceIsNotFound", changeUnknownService},
		{"AppKeepsItsBirthday", changeAppBirthday},
	}
}

func changeWritesBoth(e *env) {
	a := e.apply(store.Change{
		AppID: "shop", Kind: store.AttemptRollback, Now: at(1),
		Put:     []store.DesiredService{svc("shop", "web"), svc("shop", "api")},
		Actions: map[string]string{"shop-web": "create", "shop-api": "scale"},
		Expect:  map[string]int64{"shop-web": 0, "shop-api": 0},
	})
	same(e, "app", a.AppID, "shop")
	same(e, "kind", a.Kind, store.AttemptRollback)
	same(e, "state", a.State, store.AttemptRunning)
	same(e, "created", a.CreatedAt, at(1))
	same(e, "finished", a.FinishedAt.IsZero(), true)
	same(e, "services", len(a.Services), 2)
	for i, want := range []store.AttemptService{{Service: "shop-api", Action: "scale"}, {Service: "shop-web", Action: "create"}} {
		want.AttemptID, want.State, want.UpdatedAt = a.ID, store.AttemptQueued, at(1)
		same(e, want.Service, a.Services[i], want)
	}
	web := e.desired("shop-web")
	same(e, "generation", web.Generation, 1)
	same(e, "attempt", web.AttemptID, a.ID)
	same(e, "updated", web.UpdatedAt, at(1))
	same(e, "owner", web.AppID, "shop")
	app := must[store.App](e)(e.s.GetApp(e.ctx, "shop"))
	same(e, "row", app, store.App{Name: "shop", CreatedAt: at(1)})
}

func changeGeneration(e *env) {
	for want := int64(1); want <= 4; want++ {
		e.apply(applying("shop", svc("shop", "web")))
		same(e, "generation", e.desired("shop-web").Generation, want)
	}
	e.apply(applying("shop", svc("shop", "api")))
	same(e, "generation of one that was not put", e.desired("shop-web").Generation, 4)
}

// changeReplaces puts over a service that differs in every field, both ways.
func changeReplaces(e *env) {
	full := filled[store.DesiredService](&filler{})
	bare := store.DesiredService{Name: full.Name, AppID: full.AppID}
	for i, put := range []store.DesiredService{bare, full, bare} {
		c := applying(full.AppID, put)
		c.Now = at(i)
		put.AttemptID, put.Generation, put.UpdatedAt = e.apply(c).ID, int64(i+1), at(i)
		if got := e.desired(full.Name); !reflect.DeepEqual(got, put) {
			e.Errorf("put %+v\ngot %+v", put, got)
		}
	}
}

func changePutWithoutAction(e *env) {
	a := e.apply(store.Change{AppID: "shop", Kind: store.AttemptApply, Now: at(0),
		Put:     []store.DesiredService{svc("shop", "web"), svc("shop", "api")},
		Actions: map[string]string{"shop-api": "create"}})
	same(e, "services of the attempt", len(a.Services), 1)
	same(e, "service", a.Services[0].Service, "shop-api")
	same(e, "attempt of the desired row", e.desired("shop-web").AttemptID, a.ID)
}

func changeOfNothing(e *env) {
	a := e.apply(store.Change{AppID: "shop", Kind: store.AttemptApply, Now: at(3), Put: []store.DesiredService{svc("shop", "web")}})
	same(e, "state", a.State, store.AttemptSucceeded)
	same(e, "finished", a.FinishedAt, at(3))
}

func changeNumbers(e *env) {
	first := e.apply(applying("shop", svc("shop", "web")))
	second := e.apply(applying("blog", svc("blog", "web")))
	e.reopen()
	third := e.apply(applying("shop", svc("shop", "web")))
	if ids := []int64{0, first.ID, second.ID, third.ID}; !slices.IsSorted(ids) || len(slices.Compact(ids)) != 4 {
		e.Errorf("attempts are numbered %v", ids)
	}
}

func changeLists(e *env) {
	e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	e.apply(applying("shop-b", svc("shop-b", "a")))
	for _, tc := range []struct {
		app  string
		want []string
	}{
		{"shop", []string{"shop-api", "shop-web"}},
		{"shop-b", []string{"shop-b-a"}},
		{"", []string{"shop-api", "shop-b-a", "shop-web"}},
		{"none", nil},
	} {
		var got []string
		for _, d := range must[[]store.DesiredService](e)(e.s.ListDesiredServices(e.ctx, tc.app)) {
			got = append(got, d.Name)
		}
		if !slices.Equal(got, tc.want) {
			e.Errorf("services of app %q: got %v, want %v", tc.app, got, tc.want)
		}
	}
	var apps []string
	for _, a := range must[[]store.App](e)(e.s.ListApps(e.ctx)) {
		apps = append(apps, a.Name)
	}
	if !slices.Equal(apps, []string{"shop", "shop-b"}) {
		e.Errorf("apps: got %v", apps)
	}
}

func changeUnknownService(e *env) {
	d, err := e.s.GetDesiredService(e.ctx, "shop-web")
	e.is(err, store.ErrServiceNotFound)
	same(e, "service", d, nil)
	_, err = e.s.GetApp(e.ctx, "shop")
	e.is(err, store.ErrNotFound)
}

func changeAppBirthday(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	c := applying("shop", svc("shop", "web"))
	c.Now = at(100)
	e.apply(c)
	same(e, "created", must[store.App](e)(e.s.GetApp(e.ctx, "shop")).CreatedAt, at(0))
}
