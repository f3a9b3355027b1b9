package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func rollback(t *testing.T, d *apitest.Daemon, req wire.RollbackRequest) wire.ChangeResult {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	result, err := c.Rollback(t.Context(), "shop", req)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// service is the status of a service of app shop.
func service(t *testing.T, d *apitest.Daemon, name string) wire.ServiceStatus {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	status, err := c.App(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range status.Services {
		if s.Service == name {
			return s
		}
	}
	t.Fatalf("no service %s in %+v", name, status)
	return wire.ServiceStatus{}
}

func TestARollbackGoesBackToWhatServedBefore(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2"))
	apply(t, d, edit(web, "web:1", "web:3"))

	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
	if got := service(t, d, "web"); got.Active.Release != "v2" || got.Image != "a/web:2" || got.Pinned != "v2" {
		t.Errorf("%+v", got)
	}
	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web", Release: "v1"}))
	if got := service(t, d, "web"); got.Active.Release != "v1" {
		t.Errorf("to v1: %+v", got)
	}
	if again := rollback(t, d, wire.RollbackRequest{Service: "web", Release: "1"}); again.Attempt != nil || again.Plan.Changes {
		t.Errorf("to where it is: %+v", again)
	}
}

func TestWhileAChangeHasNotComeUpARollbackIsToWhatServes(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2"))
	for image, o := range map[string]apitest.Outcome{"web:3": {Fail: true, Reason: "ReadinessFailed"}, "web:4": {Hold: true}} {
		d.Paper.Set("shop-web", o)
		result := applied(t, d, wire.ApplyRequest{Source: edit(web, "web:1", image)})
		if o.Fail {
			await(t, d, result)
		}
		back := rollback(t, d, wire.RollbackRequest{Service: "web", DryRun: true})
		if got := back.Plan.Services[0].Changes[0]; got.Field != "release" || got.New != "v2" {
			t.Errorf("%s: %+v", image, got)
		}
	}
}

func TestARollbackKeepsReplicasAndRoutes(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	now := edit(web, "web:1", "web:2", "[shop.localhost]", "[shop.localhost, www.localhost]") + "    replicas: 3\n    env: {A: b}\n"
	apply(t, d, now)
	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
	got := service(t, d, "web")
	if got.Active.Release != "v1" || got.Replicas != 3 || len(got.URLs) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAnApplyEndsARollback(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2"))
	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
	apply(t, d, edit(web, "web:1", "web:2"))
	if got := service(t, d, "web"); got.Pinned != "" || got.Image != "a/web:2" {
		t.Errorf("%+v", got)
	}
}

func TestAnApplyOfWhatARollbackBroughtEndsItAndChangesNoContainer(t *testing.T) {
	for name, c := range map[string]struct {
		file   string
		action wire.Action
	}{
		"the same":        {web, wire.ActionRoute},
		"another number":  {web + "    replicas: 2\n", wire.ActionScale},
		"another setting": {web + "    stop_grace: 20s\n", wire.ActionRoute},
	} {
		d := start(t, nil)
		apply(t, d, web)
		apply(t, d, edit(web, "web:1", "web:2"))
		await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
		got := step(t, plan(t, d, c.file), "web")
		if got.Action != c.action || len(got.Interrupts) != 0 {
			t.Errorf("%s: plan %+v", name, got)
		}
		if said := slices.ContainsFunc(got.Notices, func(n string) bool { return strings.Contains(n, "the rollback ends") }); said != (name == "the same") {
			t.Errorf("%s: notices %q", name, got.Notices)
		}
		apply(t, d, c.file)
		if got := service(t, d, "web"); got.Pinned != "" || got.LastAttempt.Action != c.action {
			t.Errorf("%s: %+v", name, got)
		}
		if p := plan(t, d, c.file); p.Changes {
			t.Errorf("%s, once more: %+v", name, p)
		}
	}
}

func TestWhileARollbackGoesOnAnApplyOfItLeavesIt(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2"))
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	back := rollback(t, d, wire.RollbackRequest{Service: "web"})
	if p := plan(t, d, web); p.Changes || p.OpenAttempt != back.Attempt.ID {
		t.Errorf("%+v", p)
	}
}

func TestARollbackOfAServiceWithOneWriterAsksFirst(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	apply(t, d, edit(stateful, "db:1", "db:2"))
	c := client.New(d.Socket)
	defer c.Close()
	_, err := c.Rollback(t.Context(), "shop", wire.RollbackRequest{Service: "db"})
	if !client.IsProblem(err, wire.ProblemNeedsConfirmation) {
		t.Fatalf("got %v", err)
	}
	if result, err := c.Rollback(t.Context(), "shop", wire.RollbackRequest{Service: "db", AllowInterrupt: true}); err != nil || result.Attempt == nil {
		t.Errorf("allowed: %v", err)
	}
}
