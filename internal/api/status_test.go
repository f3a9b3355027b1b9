package api_test

import (
	"testing"

	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestTheStateOfAServiceSaysWhetherItServesWhatWasAskedFor(t *testing.T) {
	d := start(t, nil)
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	applied(t, d, wire.ApplyRequest{Source: web})
	if got := service(t, d, "web"); got.State != wire.StateDeploying || got.Active != nil {
		t.Errorf("under way: %+v", got)
	}
	d.Paper.Set("shop-web", apitest.Outcome{Fail: true, Reason: "ImageNotFound"})
	apply(t, d, edit(web, "web:1", "web:0"))
	if got := service(t, d, "web"); got.State != wire.StateFailed {
		t.Errorf("never came up: %+v", got)
	}
	d.Paper.Set("shop-web", apitest.Outcome{})
	apply(t, d, web)
	if got := service(t, d, "web"); got.State != wire.StateReady || got.Active.Targets[0].Address != "10.210.0.10:8080" {
		t.Errorf("serves: %+v", got)
	}
	d.Paper.Set("shop-web", apitest.Outcome{Fail: true, Reason: "ReadinessFailed", Message: "GET / answered 500"})
	apply(t, d, edit(web, "web:1", "web:2"))
	got := service(t, d, "web")
	if got.State != wire.StateDegraded || got.LastAttempt.Reason != "ReadinessFailed" || got.Active.Release != "v1" {
		t.Errorf("the old one serves: %+v", got)
	}
}

func TestAnAppOfWhichSomethingServesHasNotFailed(t *testing.T) {
	const job = "  job:\n    image: a/job:1\n    restart: no\n"
	for name, c := range map[string]struct {
		file string
		fail string
		want wire.AppState
	}{
		"a job failed":                   {web + job, "shop-job", wire.StateDegraded},
		"a worker failed":                {web + "  worker:\n    image: a/worker:1\n", "shop-worker", wire.StateDegraded},
		"a job ended well, nothing else": {web + job, "shop-web", wire.StateFailed},
		"a job alone":                    {"name: shop\nservices:\n" + job, "shop-job", wire.StateFailed},
		"nothing failed":                 {web + job, "", wire.StateReady},
	} {
		d := start(t, nil)
		if c.fail != "" {
			d.Paper.Set(c.fail, apitest.Outcome{Fail: true, Reason: "CompletionFailed"})
		}
		apply(t, d, c.file)
		cl := client.New(d.Socket)
		status, err := cl.App(t.Context(), "shop")
		if err != nil || status.State != c.want {
			t.Errorf("%s: %s, want %s, %v", name, status.State, c.want, err)
		}
		if list, err := cl.Apps(t.Context()); err != nil || list.Apps[0].State != c.want {
			t.Errorf("%s, in the list: %+v, %v", name, list, err)
		}
		cl.Close()
		for _, svc := range status.Services {
			if failed := svc.State == wire.StateFailed; failed != (svc.Name == c.fail) {
				t.Errorf("%s: %s is %s", name, svc.Name, svc.State)
			}
		}
	}
}

func TestADeletedAppIsGoneOnceItsServicesAre(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	d.Paper.Set("shop-db", apitest.Outcome{Hold: true})
	c := client.New(d.Socket)
	defer c.Close()
	result, err := c.Delete(t.Context(), "shop", client.DeleteOptions{AllowRemove: true})
	if err != nil {
		t.Fatal(err)
	}
	status, err := c.App(t.Context(), "shop")
	if err != nil || status.State != wire.StateDeleting || len(status.Tombstones) == 0 {
		t.Errorf("under way: %+v, %v", status, err)
	}
	again, err := c.Delete(t.Context(), "shop", client.DeleteOptions{AllowRemove: true})
	if err != nil || again.Attempt != nil || again.Plan.OpenAttempt != result.Attempt.ID {
		t.Errorf("deleted again: %+v, %v", again, err)
	}
	d.Paper.Set("shop-db", apitest.Outcome{})
	if final := await(t, d, result); final.State != wire.AttemptSucceeded {
		t.Errorf("%+v", final)
	}
}

func TestApplyingAnAppThatIsBeingDeletedBringsItBack(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	d.Paper.Set("shop-web", apitest.Outcome{Hold: true})
	c := client.New(d.Socket)
	defer c.Close()
	if _, err := c.Delete(t.Context(), "shop", client.DeleteOptions{AllowRemove: true}); err != nil {
		t.Fatal(err)
	}
	result := applied(t, d, wire.ApplyRequest{Source: edit(web, "web:1", "web:2")})
	if step(t, result.Plan, "web").Action != wire.ActionCreate {
		t.Errorf("plan %+v", result.Plan)
	}
	d.Paper.Set("shop-web", apitest.Outcome{})
	back := await(t, d, result)
	if got := service(t, d, "web"); back.State != wire.AttemptSucceeded || got.State != wire.StateReady {
		t.Errorf("%+v, %+v", back, got)
	}
}

func TestTheOverviewCountsAppsAndServices(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	c := client.New(d.Socket)
	defer c.Close()
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.Apps != 1 || status.Services != 3 || status.Ready != 3 || status.RouteVersion == 0 || status.Instance != "b1" {
		t.Errorf("%+v", status)
	}
	list, err := c.Apps(t.Context())
	if err != nil || len(list.Apps) != 1 || list.Apps[0].Ready != 3 || list.Apps[0].URLs[0] != "http://shop.localhost:8080" {
		t.Errorf("%+v, %v", list, err)
	}
}
