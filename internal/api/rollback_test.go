package api_test

import (
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
