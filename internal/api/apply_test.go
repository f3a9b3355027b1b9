package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const web = `name: shop
services:
  web:
    image: a/web:1
    port: 8080
    domains: [shop.localhost]
`

// edit replaces pairs of texts in a file.
func edit(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// plan is a dry run.
func plan(t *testing.T, d *apitest.Daemon, text string) wire.Plan {
	t.Helper()
	result := applied(t, d, wire.ApplyRequest{Source: text, DryRun: true})
	if result.Attempt != nil {
		t.Fatal("a dry run made an attempt")
	}
	return result.Plan
}

// step is what a plan does to a service.
func step(t *testing.T, p wire.Plan, service string) wire.ServicePlan {
	t.Helper()
	i := slices.IndexFunc(p.Services, func(s wire.ServicePlan) bool { return s.Service == service })
	if i < 0 {
		t.Fatalf("no %s in %+v", service, p)
	}
	return p.Services[i]
}

func TestTheActionFollowsFromWhatChanged(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	for name, c := range map[string]struct {
		text   string
		action wire.Action
	}{
		"nothing":  {web, wire.ActionUnchanged},
		"image":    {edit(web, "web:1", "web:2"), wire.ActionUpdate},
		"env":      {web + "    env: {A: b}\n", wire.ActionUpdate},
		"replicas": {web + "    replicas: 3\n", wire.ActionScale},
		"domains":  {edit(web, "[shop.localhost]", "[shop.localhost, www.localhost]"), wire.ActionRoute},
		"grace":    {web + "    stop_grace: 20s\n", wire.ActionRoute},
		"node":     {edit(web, "services:", "node: big\nservices:"), wire.ActionUpdate},
		"spread":   {edit(web, "services:", "spread: true\nservices:"), wire.ActionUpdate},
		"keep":     {edit(web, "services:", "on_disconnect: keep\nservices:"), wire.ActionRoute},
		"default":  {edit(web, "services:", "on_disconnect: {move_after: 5m}\nservices:"), wire.ActionUnchanged},
		"both":     {edit(web, "web:1", "web:2") + "    replicas: 3\n", wire.ActionUpdate},
	} {
		p := plan(t, d, c.text)
		got := step(t, p, "web")
		if got.Action != c.action || p.Changes != (c.action != wire.ActionUnchanged) || p.Interrupts || p.Removes {
			t.Errorf("%s: %s, plan %+v", name, got.Action, p)
		}
	}
}

func TestValuesOfVariablesAreNotInThePlan(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web+"    env: {TOKEN: opensesame}\n")
	changes := step(t, plan(t, d, web+"    env: {TOKEN: swordfish}\n"), "web").Changes
	want := []wire.FieldChange{{Field: "env.TOKEN", Old: "(hidden)", New: "(hidden)", Private: true}}
	if !slices.Equal(changes, want) {
		t.Errorf("changes %+v", changes)
	}
}

func TestAnUnchangedFileMakesNoAttempt(t *testing.T) {
	d := start(t, nil)
	first := apply(t, d, web)
	result := applied(t, d, wire.ApplyRequest{Source: web})
	if result.Attempt != nil || result.Plan.Changes {
		t.Errorf("%+v", result)
	}
	if first.State != wire.AttemptSucceeded {
		t.Errorf("first attempt %+v", first)
	}
}

func TestAFailedChangeIsTriedAgain(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	d.Paper.Set("shop-web", apitest.Outcome{Fail: true, Reason: "ImageNotFound", Message: "no such image"})
	second := edit(web, "web:1", "web:2")
	if failed := apply(t, d, second); failed.State != wire.AttemptFailed || failed.Services[0].Reason != "ImageNotFound" {
		t.Fatalf("%+v", failed)
	}
	d.Paper.Set("shop-web", apitest.Outcome{})
	if got := step(t, plan(t, d, second), "web").Action; got != wire.ActionRetry {
		t.Errorf("action %s", got)
	}
	if done := apply(t, d, second); done.State != wire.AttemptSucceeded || done.Services[0].Action != wire.ActionRetry {
		t.Errorf("%+v", done)
	}
	if got := step(t, plan(t, d, second), "web").Action; got != wire.ActionUnchanged {
		t.Errorf("afterwards %s", got)
	}
}

func TestRefreshLooksUpImagesThatMayHaveMoved(t *testing.T) {
	d := start(t, nil)
	pinned := "a/db@sha256:" + strings.Repeat("0", 64)
	text := web + "  db:\n    image: " + pinned + "\n"
	apply(t, d, text)
	p := applied(t, d, wire.ApplyRequest{Source: text, DryRun: true, Refresh: true}).Plan
	if a, b := step(t, p, "web").Action, step(t, p, "db").Action; a != wire.ActionRetry || b != wire.ActionUnchanged {
		t.Errorf("web %s, db %s", a, b)
	}
}

func TestWhatInterruptsDependsOnWhatServes(t *testing.T) {
	d := start(t, nil)
	d.Paper.Set("shop-db", apitest.Outcome{Fail: true, Reason: "ExitedDuringReadiness"})
	apply(t, d, stateful)
	// Nothing serves yet: there is nothing to interrupt.
	if p := plan(t, d, edit(stateful, "db:1", "db:2")); p.Interrupts {
		t.Errorf("first release: %+v", p)
	}
	d.Paper.Set("shop-db", apitest.Outcome{})
	apply(t, d, edit(stateful, "db:1", "db:2"))
	if got := step(t, plan(t, d, edit(stateful, "db:1", "db:3")), "db").Interrupts; len(got) != 1 || got[0].Kind != "handover" {
		t.Errorf("one writer: %+v", got)
	}
	// A retry of a change that did not come up replaces what serves as well.
	d.Paper.Set("shop-db", apitest.Outcome{Fail: true, Reason: "ExitedDuringReadiness"})
	apply(t, d, edit(stateful, "db:1", "db:3"))
	retry := step(t, plan(t, d, edit(stateful, "db:1", "db:3")), "db")
	if retry.Action != wire.ActionRetry || len(retry.Interrupts) != 1 {
		t.Errorf("retry: %+v", retry)
	}
	// Going back to what serves changes the wish, not the containers.
	if got := step(t, plan(t, d, edit(stateful, "db:1", "db:2")), "db"); len(got.Interrupts) != 0 {
		t.Errorf("back to what serves: %+v", got)
	}
	if got := step(t, plan(t, d, edit(stateful, "    domains: [shop.localhost]\n", "")), "web").Interrupts; len(got) != 1 || got[0].Kind != "route" {
		t.Errorf("lost domain: %+v", got)
	}
}

func TestARemovedServiceKeepsItsVolumes(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	p := plan(t, d, web)
	got := step(t, p, "db")
	if !p.Removes || got.Action != wire.ActionDelete || !slices.Equal(got.KeptVolumes, []wire.KeptVolume{{Name: "data", Engine: "data"}}) {
		t.Errorf("%+v", p)
	}
}

func TestTwoAppliersConflict(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	mine := plan(t, d, edit(web, "web:1", "web:2"))
	apply(t, d, edit(web, "web:1", "web:3"))

	c := client.New(d.Socket)
	defer c.Close()
	_, err := c.Apply(t.Context(), wire.ApplyRequest{Source: edit(web, "web:1", "web:2"), Base: mine.Base})
	if !client.IsProblem(err, wire.ProblemConflict) {
		t.Fatalf("got %v", err)
	}
	again := plan(t, d, edit(web, "web:1", "web:2"))
	result, err := c.Apply(t.Context(), wire.ApplyRequest{Source: edit(web, "web:1", "web:2"), Base: again.Base})
	if err != nil || result.Attempt == nil {
		t.Errorf("on the new base: %v", err)
	}
}

func TestAPlanCoversServicesOfAnotherApplier(t *testing.T) {
	d := start(t, nil)
	base := plan(t, d, web).Base
	apply(t, d, edit(web, "web:1", "web:9", "  web:", "  other:"))
	c := client.New(d.Socket)
	defer c.Close()
	_, err := c.Apply(t.Context(), wire.ApplyRequest{Source: web, Base: base, AllowRemove: true})
	if !client.IsProblem(err, wire.ProblemConflict) {
		t.Errorf("a service came up that the plan did not show, and yet: %v", err)
	}
}

func TestNoticesSayWhatADeclarationMeans(t *testing.T) {
	d := start(t, nil)
	text := edit(web, "    domains: [shop.localhost]\n", "") + "  worker:\n    image: a/worker:1\n"
	p := plan(t, d, text)
	if got := step(t, p, "worker").Notices; len(got) != 1 || !strings.Contains(got[0], "no route") {
		t.Errorf("worker: %q", got)
	}
	if got := step(t, p, "web").Notices; len(got) != 2 || !strings.Contains(got[0], "TCP check of port 8080") || !strings.Contains(got[1], "no domain") {
		t.Errorf("web: %q", got)
	}
	apply(t, d, text)
	if got := step(t, plan(t, d, edit(text, "web:1", "web:2")), "web").Notices; len(got) != 0 {
		t.Errorf("said again though nothing about it changed: %q", got)
	}
}

func TestThePlanSaysThatARoutedServiceWaitsForTheDataPlane(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Listeners = func() []string { return nil } })
	p := plan(t, d, web+"  worker:\n    image: a/worker:1\n")
	for service, waits := range map[string]bool{"web": true, "worker": false} {
		notices := strings.Join(step(t, p, service).Notices, "\n")
		if strings.Contains(notices, "the change waits for it") != waits {
			t.Errorf("%s: %s", service, notices)
		}
	}
}

func TestThePlanSaysThatAnEarlierAttemptGoesOn(t *testing.T) {
	d := start(t, nil)
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	first := applied(t, d, wire.ApplyRequest{Source: web})
	if got := plan(t, d, web).OpenAttempt; got != first.Attempt.ID {
		t.Errorf("open attempt %d", got)
	}
	if got := plan(t, d, edit(web, "web:1", "web:2")); got.OpenAttempt != first.Attempt.ID || maps.Equal(got.Base, wire.Base{}) {
		t.Errorf("%+v", got)
	}
}
