package workloads_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

func TestRefusalsSayWhatIsMissingAndWhereToLook(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	if _, err := r.apply("shop:1"); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	stop()
	seven := 7
	_, rollbackErr := r.Service.Rollback(r.ctx, "shop", "v9", workloads.With{})
	_, imagesErr := r.Service.DeployImages(r.ctx, "shop", map[string]string{"db": "shop:2"}, "", workloads.With{})
	_, execErr := r.Service.Exec(r.ctx, "shop", provider.ExecRequest{Command: []string{"env"}, Replica: &seven})
	for _, tc := range []struct {
		name, text, hint string
		err              error
	}{
		{"workload", `there is no workload "blog"`, "`berth workload list`", r.Service.Find(r.ctx, "blog", "")},
		{"service", `workload shop has no service "db"`, "`berth workload status shop`", r.Service.Find(r.ctx, "shop", "db")},
		{"service of a deploy", `workload shop has no service "db"`, "`berth workload status shop`", imagesErr},
		{"release", "workload shop has no release v9", "`berth workload releases shop`", rollbackErr},
		{"replica", "workload shop", "`berth workload status shop`", execErr},
	} {
		var p *wire.Problem
		if !errors.As(tc.err, &p) || !errors.Is(tc.err, provider.ErrNotFound) || p.Type != wire.ProblemNotFound {
			t.Errorf("%s: %v", tc.name, tc.err)
			continue
		}
		if !strings.Contains(p.Detail, tc.text) || strings.Contains(p.Detail, "provider:") || strings.Contains(p.Detail, "wkl") || !strings.HasPrefix(p.Hint, tc.hint) {
			t.Errorf("%s: %q, hint %q", tc.name, p.Detail, p.Hint)
		}
	}
}

func TestABusyWorkloadIsToldByTheNumberOfItsRollout(t *testing.T) {
	r := newRig(t)
	// It is not ready before it has been so for an hour: the rollout stays open.
	f := r.file("name: shop\nrollout: {stable_window: 1h}\nservices:\n  web: {image: shop:1, ports: [8080]}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); err != nil {
		t.Fatal(err)
	}
	_, err := r.apply("shop:2")
	if err == nil || !errors.Is(err, provider.ErrBusy) || err.Error() != "workload shop: rollout 1 is under way" {
		t.Errorf("%v", err)
	}
}

func TestASecretWithoutAValueIsSaidOnceWithWhatToRun(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, ports: [8080], secrets: [{key: shop/TOKEN, env: TOKEN}]}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("failed", func(w wire.WorkloadStatus) bool { return w.Rollout.Ended() })
	w, err := r.Service.Status(r.ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	const want = "secret shop/TOKEN has no value; run `berth secret set shop TOKEN`, then apply the file again"
	if w.Message != want || w.Rollout.Failure == nil || w.Rollout.Failure.Message != want {
		t.Errorf("the workload: %q, its rollout: %+v", w.Message, w.Rollout.Failure)
	}
	for _, p := range w.Rollout.Services {
		if p.Message != "" && p.Message != want {
			t.Errorf("progress of %s: %q", p.Service, p.Message)
		}
	}
}
