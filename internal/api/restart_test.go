package api_test

import (
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func restart(t *testing.T, d *apitest.Daemon, req wire.RestartRequest) (wire.ChangeResult, error) {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	return c.Restart(t.Context(), "shop", req)
}

func scale(t *testing.T, d *apitest.Daemon, req wire.ScaleRequest) (wire.ChangeResult, error) {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	return c.Scale(t.Context(), "shop", req)
}

// notes are the notices of a step in one text.
func notes(s wire.ServicePlan) string { return strings.Join(s.Notices, "\n") }

func TestEveryRestartMakesAReleaseOfItsOwn(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	for i, want := range []string{"v2", "v3"} {
		result, err := restart(t, d, wire.RestartRequest{})
		if err != nil {
			t.Fatal(err)
		}
		final := await(t, d, result)
		if final.Kind != "restart" || final.Services[0].Action != wire.ActionRestart || final.State != wire.AttemptSucceeded {
			t.Errorf("restart %d: %+v", i, final)
		}
		if got := service(t, d, "web"); got.Active.Release != want || got.Image != "a/web:1" || got.Pinned != "" {
			t.Errorf("restart %d: %+v", i, got)
		}
	}
	if p := plan(t, d, web); p.Changes {
		t.Errorf("after a restart the file would change %+v", p)
	}
}

func TestARestartConcernsTheServicesNamed(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	before := service(t, d, "db").Generation
	result, err := restart(t, d, wire.RestartRequest{Services: []string{"web", "db-x", "web"}})
	if err != nil {
		t.Fatal(err)
	}
	if final := await(t, d, result); len(final.Services) != 2 || len(result.Plan.Base) != 2 {
		t.Errorf("%+v", result)
	}
	if got := service(t, d, "db"); got.Generation != before {
		t.Errorf("the other one changed: %+v", got)
	}
}

func TestARestartOfAServiceThatHandsOverAsksFirst(t *testing.T) {
	d := start(t, nil)
	apply(t, d, stateful)
	_, err := restart(t, d, wire.RestartRequest{})
	if !client.IsProblem(err, wire.ProblemNeedsConfirmation) {
		t.Fatalf("got %v", err)
	}
	if result, err := restart(t, d, wire.RestartRequest{AllowInterrupt: true}); err != nil || len(await(t, d, result).Services) != 3 {
		t.Errorf("allowed: %v", err)
	}
}

func TestARestartAfterARollbackStaysWithTheImageThatWasChosen(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2"))
	await(t, d, rollback(t, d, wire.RollbackRequest{Service: "web"}))
	resolved := service(t, d, "web").Active.Resolved
	result, err := restart(t, d, wire.RestartRequest{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, d, result)
	if got := service(t, d, "web"); got.Image != resolved || got.Active.Release != "v3" {
		t.Errorf("%+v, want image %s", got, resolved)
	}
	if !strings.Contains(notes(result.Plan.Services[0]), "rolled back to v1") {
		t.Errorf("not said: %+v", result.Plan)
	}
	if p := plan(t, d, edit(web, "web:1", "web:2")); !p.Changes {
		t.Error("the next apply would not end the rollback")
	}
}

func TestScalingChangesTheNumberOfReplicasAlone(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	result, err := scale(t, d, wire.ScaleRequest{Replicas: map[string]int{"web": 3}})
	if err != nil {
		t.Fatal(err)
	}
	final := await(t, d, result)
	if final.Kind != "scale" || final.Services[0].Action != wire.ActionScale {
		t.Errorf("%+v", final)
	}
	if got := service(t, d, "web"); got.Replicas != 3 || len(got.Active.Targets) != 3 || got.Active.Release != "v1" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(notes(result.Plan.Services[0]), "next apply") {
		t.Errorf("it is not said that an apply sets it back: %+v", result.Plan)
	}
	if got := step(t, plan(t, d, web), "web"); got.Action != wire.ActionScale || got.Changes[0].New != "1" {
		t.Errorf("the next apply: %+v", got)
	}
	if again, err := scale(t, d, wire.ScaleRequest{Replicas: map[string]int{"web": 3}}); err != nil || again.Attempt != nil || again.Plan.Changes {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// What serves is the old release then, and a light change would take it for what
// is wanted.
func TestAChangeThatNeedsNoContainerCarriesOnOneThatHasNotComeUp(t *testing.T) {
	for name, o := range map[string]apitest.Outcome{"failed": {Fail: true, Reason: "ReadinessFailed"}, "open": {Hold: true}} {
		d := start(t, nil)
		apply(t, d, web)
		d.Paper.Set("shop-web", o)
		result := applied(t, d, wire.ApplyRequest{Source: edit(web, "web:1", "web:2")})
		if o.Fail {
			await(t, d, result)
		}
		for kind, p := range map[string]func() wire.Plan{
			"scale": func() wire.Plan {
				r, err := scale(t, d, wire.ScaleRequest{Replicas: map[string]int{"web": 3}, DryRun: true})
				if err != nil {
					t.Fatal(err)
				}
				return r.Plan
			},
			"apply": func() wire.Plan { return plan(t, d, edit(web, "web:1", "web:2")+"    replicas: 3\n") },
			"route": func() wire.Plan { return plan(t, d, edit(web, "web:1", "web:2")+"    stop_grace: 20s\n") },
		} {
			if got := step(t, p(), "web"); got.Action != wire.ActionUpdate || notes(got) == "" {
				t.Errorf("%s after one that %s: %+v", kind, name, got)
			}
		}
	}
}
