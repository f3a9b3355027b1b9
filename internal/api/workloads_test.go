package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

const shopFile = `name: shop
services:
  web:
    image: shop:1
    replicas: 2
    ports: [8080]
`

// workloadClient is a client of a daemon, with a limit for what a test waits for.
func workloadClient(t *testing.T, d *apitest.Daemon) (context.Context, *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	c := client.New(d.Socket)
	t.Cleanup(c.Close)
	return ctx, c
}

// applyFile applies a workload file and waits for the end of its rollout.
func applyFile(ctx context.Context, t *testing.T, c *client.Client, source string) (wire.WorkloadChange, wire.WorkloadStatus) {
	t.Helper()
	change, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	status, err := c.FollowWorkload(ctx, change.Name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return change, status
}

func TestAWorkloadIsCreatedChangedAndLeftAlone(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	made, now := applyFile(ctx, t, c, shopFile)
	if made.Action != wire.WorkloadCreate || made.Provider != apitest.ProviderName || made.Rollout == nil || now.Release != "v1" || !now.Ready || now.Serving != 2 {
		t.Fatalf("created: %+v, %+v", made, now)
	}
	same, _ := applyFile(ctx, t, c, shopFile)
	if same.Action != wire.WorkloadUnchanged || same.Rollout != nil || same.ID != made.ID {
		t.Errorf("the same file: %+v", same)
	}
	dry, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: strings.Replace(shopFile, "shop:1", "shop:2", 1), DryRun: true})
	want := []wire.WorkloadFieldChange{{Service: "web", Field: "image", Old: "shop:1", New: "shop:2"}}
	if err != nil || dry.Action != wire.WorkloadDeploy || dry.Rollout != nil || !slices.Equal(dry.Changes, want) {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	changed, now := applyFile(ctx, t, c, strings.Replace(shopFile, "shop:1", "shop:2", 1))
	if changed.Action != wire.WorkloadDeploy || now.Release != "v2" || now.Services[0].Image != "shop:2" || !now.Ready {
		t.Errorf("another image: %+v, %+v", changed, now)
	}
}

func TestApplyTakesBackASizeThatTheFileDoesNotSay(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	applyFile(ctx, t, c, shopFile)
	if _, err := c.ScaleWorkload(ctx, "shop", wire.WorkloadScaleRequest{Replicas: 3}); err != nil {
		t.Fatal(err)
	}
	awaitStatus(ctx, t, c, "shop", func(w wire.WorkloadStatus) bool { return w.Serving == 3 })
	// Another image keeps it.
	if change, err := c.DeployWorkload(ctx, "shop", wire.WorkloadDeployRequest{Images: map[string]string{"web": "shop:2"}}); err != nil || len(change.Changes) != 1 {
		t.Fatalf("%+v, %v", change, err)
	}
	if now, err := c.FollowWorkload(ctx, "shop", nil, nil); err != nil || now.Serving != 3 {
		t.Fatalf("after a deploy: %+v, %v", now, err)
	}
	if _, err := c.ScaleWorkload(ctx, "shop", wire.WorkloadScaleRequest{Replicas: 4}); err != nil {
		t.Fatal(err)
	}
	file := strings.Replace(shopFile, "shop:1", "shop:2", 1)
	change, _ := applyFile(ctx, t, c, file)
	if want := []wire.WorkloadFieldChange{{Service: "web", Field: "replicas", Old: "4", New: "2"}}; !slices.Equal(change.Changes, want) {
		t.Errorf("changes %+v", change.Changes)
	}
	awaitStatus(ctx, t, c, "shop", func(w wire.WorkloadStatus) bool { return w.Serving == 2 && w.Ready })
}

// awaitStatus looks until a workload is as wanted.
func awaitStatus(ctx context.Context, t *testing.T, c *client.Client, name string, is func(wire.WorkloadStatus) bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		w, err := c.Workload(ctx, name)
		if err == nil && is(w) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("workload %s never came so: %+v, %v", name, w, err)
		}
	}
}

// slow is an image that serves once it is let.
func slow(let <-chan struct{}) memory.Image {
	return memory.Image{Entrypoint: []string{"/serve"}, Programs: map[string]memory.Program{
		"/serve": func(ctx context.Context, p *memory.Process) int {
			select {
			case <-let:
				return memory.Serve(ctx, p)
			case <-p.Stopped():
			case <-ctx.Done():
			}
			return 0
		},
	}}
}

func TestTheSameRequestJoinsARolloutAndAnotherIsRefused(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	let := make(chan struct{})
	d.Workloads.Provider.Cluster().AddImage("slow:1", slow(let))
	applyFile(ctx, t, c, shopFile)
	slowly := strings.Replace(shopFile, "shop:1", "slow:1", 1)
	first, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: slowly})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: slowly})
	if err != nil || again.Action != wire.WorkloadUnderWay || again.Rollout == nil || again.Rollout.ID != first.Rollout.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: strings.Replace(shopFile, "shop:1", "shop:2", 1)}); !client.IsProblem(err, wire.ProblemRolloutOpen) {
		t.Errorf("another: %v", err)
	}
	if _, err := c.ScaleWorkload(ctx, "shop", wire.WorkloadScaleRequest{Replicas: 5}); !client.IsProblem(err, wire.ProblemRolloutOpen) {
		t.Errorf("a scale: %v", err)
	}
	close(let)
	if now, err := c.FollowWorkload(ctx, "shop", nil, nil); err != nil || now.Rollout.State != "succeeded" || now.Release != "v2" {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestACancelledRolloutReturnsToWhatServed(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	d.Workloads.Provider.Cluster().AddImage("slow:1", slow(nil))
	// The provider in memory takes a rollback only once the rollout has failed.
	applyFile(ctx, t, c, "rollout: {ready_timeout: 1s}\n"+shopFile)
	if _, err := c.DeployWorkload(ctx, "shop", wire.WorkloadDeployRequest{Images: map[string]string{"web": "slow:1"}}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.CancelWorkload(ctx, "shop"); err != nil || !r.Cancelling {
		t.Fatalf("%+v, %v", r, err)
	}
	if now, err := c.FollowWorkload(ctx, "shop", nil, nil); err != nil || now.Rollout.State != "cancelled" || now.Release != "v1" || !now.Available {
		t.Errorf("%+v, %v", now, err)
	}
	if _, err := c.CancelWorkload(ctx, "shop"); !client.IsProblem(err, wire.ProblemConflict) {
		t.Errorf("again: %v", err)
	}
}

func TestAFirstReleaseThatFailedIsTriedAgainAndReplaced(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	failing := strings.Replace(shopFile, "shop:1", "broken:1", 1)
	made, now := applyFile(ctx, t, c, failing)
	if now.Rollout.State != "failed" || now.Rollout.Failure == nil || now.Release != "" {
		t.Fatalf("%+v", now)
	}
	again, now := applyFile(ctx, t, c, failing)
	if again.Rollout == nil || again.Rollout.Number != 2 || again.ID != made.ID || now.Rollout.State != "failed" {
		t.Errorf("again: %+v, %+v", again, now)
	}
	_, now = applyFile(ctx, t, c, shopFile)
	if now.Rollout.State != "succeeded" || !now.Ready {
		t.Errorf("corrected: %+v", now)
	}
}

func TestRefusalsOfWorkloadsSayWhatKindTheyAre(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	applyFile(ctx, t, c, shopFile)
	problem := func(err error) *wire.Problem {
		var p *wire.Problem
		if !errors.As(err, &p) {
			t.Fatalf("no problem: %v", err)
		}
		return p
	}
	apply := func(source string) error {
		_, err := c.ApplyWorkload(ctx, wire.WorkloadApplyRequest{Source: source})
		return err
	}
	deploy := func(image, strategy string) error {
		_, err := c.DeployWorkload(ctx, "shop", wire.WorkloadDeployRequest{Images: map[string]string{"web": image}, Strategy: strategy})
		return err
	}
	unknown := func(name string) error { _, err := c.Workload(ctx, name); return err }
	for name, try := range map[string]struct {
		err    error
		kind   wire.ProblemType
		status int
		errors int
	}{
		"no such workload":    {unknown("blog"), wire.ProblemNotFound, 404, 0},
		"a name that is none": {unknown("../x y"), wire.ProblemNotFound, 404, 0},
		"no such provider":    {apply("provider: moon\n" + strings.Replace(shopFile, "shop", "blog", 1)), wire.ProblemNotFound, 404, 0},
		"a file":              {apply("name: Shop\nservices: {web: {imge: a}}\n"), wire.ProblemInvalidSpec, 422, 3},
		"another shape":       {apply(shopFile + "  db: {role: sidecar, image: a}\n"), wire.ProblemShapeFixed, 409, 1},
		"a strategy":          {deploy("shop:2", "canary"), wire.ProblemNotSupported, 501, 0},
		"no strategy":         {deploy("shop:2", "at-once"), wire.ProblemInvalidRequest, 422, 1},
		"no image":            {deploy(" ", ""), wire.ProblemInvalidRequest, 422, 1},
		"what it cannot do":   {apply(strings.Replace(shopFile, "name: shop", "name: gpu", 1) + "    resources: {gpu: 1}\n"), wire.ProblemNotSupported, 501, 0},
	} {
		p := problem(try.err)
		if p.Type != try.kind || p.Status != try.status || len(p.Errors) != try.errors || p.Hint == "" {
			t.Errorf("%s: %d %s with %d errors: %v (hint %q)", name, p.Status, p.Type, len(p.Errors), p, p.Hint)
		}
	}
	if _, err := c.StopWorkload(ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(ctx, t, c, "shop", func(w wire.WorkloadStatus) bool { return w.State == "stopped" })
	if p := problem(deploy("shop:2", "")); p.Type != wire.ProblemConflict || p.Status != http.StatusConflict {
		t.Errorf("a stopped one: %v", p)
	}
	if list, err := c.Workloads(ctx); err != nil || len(list.Workloads) != 1 {
		t.Errorf("what was refused left something: %+v, %v", list, err)
	}
}

func TestDeletionIsRepeatedUntilNothingIsLeft(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	applyFile(ctx, t, c, shopFile)
	struck := d.Workloads.Provider.Cluster().Script(memory.Fault{Call: 1, Kind: memory.FailBefore})
	if _, err := c.DeleteWorkload(ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	awaitGone(ctx, t, c, "shop")
	if !struck() {
		t.Error("the fault never struck")
	}
	if keys, err := d.Workloads.State.List(ctx, ""); err != nil || len(keys) != 0 {
		t.Errorf("records are left: %v, %v", keys, err)
	}
	if _, now := applyFile(ctx, t, c, shopFile); !now.Ready || now.Release != "v1" {
		t.Errorf("the name again: %+v", now)
	}
}

func awaitGone(ctx context.Context, t *testing.T, c *client.Client, name string) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		_, err := c.Workload(ctx, name)
		if client.IsProblem(err, wire.ProblemNotFound) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("workload %s is still there: %v", name, err)
		}
	}
}

func TestProvidersSayWhetherTheyAnswer(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	d.Workloads.Registry.Register("away", away{d.Workloads.Provider})
	list, err := c.Providers(ctx)
	if err != nil || len(list.Providers) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	gone, here := list.Providers[0], list.Providers[1]
	if gone.Healthy || gone.Message != "nobody there" || gone.Default || here.Name != apitest.ProviderName || !here.Healthy || !here.Default || len(here.Capabilities) == 0 {
		t.Errorf("%+v", list)
	}
}

// away is a provider whose orchestrator does not answer.
type away struct{ provider.Provider }

func (away) HealthCheck(context.Context) (*provider.HealthStatus, error) {
	return nil, errors.New("nobody there")
}

func (away) Status(context.Context, id.ID) (*provider.InstanceStatus, error) {
	return nil, provider.ErrUnavailable
}

func TestAWorkloadWhoseProviderDoesNotAnswerIsShown(t *testing.T) {
	d := start(t, nil)
	ctx, c := workloadClient(t, d)
	applyFile(ctx, t, c, shopFile)
	d.Workloads.Registry.Register(apitest.ProviderName, away{d.Workloads.Provider})
	w, err := c.Workload(ctx, "shop")
	if err != nil || w.State != "unknown" || w.Reason != "Unavailable" || w.Release != "v1" {
		t.Errorf("%+v, %v", w, err)
	}
	if _, err := c.DeployWorkload(ctx, "shop", wire.WorkloadDeployRequest{Images: map[string]string{"web": "shop:2"}}); !client.IsProblem(err, wire.ProblemBusy) {
		t.Errorf("a deploy: %v", err)
	}
}

// TestNothingTellsTheContentOfAConfigFile plants a canary in a file that comes with a
// request, in one that is written in it, and in a variable, and looks for it in
// everything that the daemon says and keeps.
func TestNothingTellsTheContentOfAConfigFile(t *testing.T) {
	var log locked
	d := start(t, func(deps *api.Deps) {
		deps.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ctx, c := workloadClient(t, d)
	planted := func(extra string) string {
		return shopFile + "    env: {TOKEN: " + canary + "}\n    config_files:\n" +
			"      - {name: sent, path: /etc/shop/sent, file: sent.txt}\n" +
			"      - {name: inline, path: /etc/shop/inline, content: " + canary + "}\n" + extra
	}
	bodies := []wire.WorkloadApplyRequest{
		{Source: planted(""), Files: map[string][]byte{"sent.txt": []byte(canary)}, DryRun: true},
		{Source: planted(""), Files: map[string][]byte{"sent.txt": []byte(canary)}},
		{Source: planted(""), Files: map[string][]byte{"sent.txt": []byte(canary + " changed")}},
		{Source: planted(""), Files: map[string][]byte{"other.txt": []byte(canary)}},
		{Source: planted("      - {name: a, path: x, content: " + canary + "}\n"), Files: map[string][]byte{"sent.txt": []byte(canary)}},
		{Source: planted("    ports: " + canary + ": x\n")},
		{Source: planted(""), Files: map[string][]byte{"sent.txt": []byte(strings.Repeat(canary, 1<<16))}},
		{Source: strings.Replace(planted(""), "shop:1", "broken:1", 1), Files: map[string][]byte{"sent.txt": []byte(canary)}},
		{Source: strings.Replace(planted(""), "name: shop", "name: other\nprovider: nowhere", 1), Files: map[string][]byte{"sent.txt": []byte(canary)}},
	}
	caller := overSocket(d.Socket)
	call := func(method, path, body string) {
		req, err := http.NewRequestWithContext(ctx, method, "http://berth"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := caller.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if tells(string(answer)) {
			t.Errorf("%s %s: %s", method, path, answer)
		}
	}
	for _, body := range bodies {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		call("PUT", "/v1/workloads", string(raw))
		call("GET", "/v1/workloads/shop/events", "")
	}
	call("PUT", "/v1/workloads", `{"source": 1, "files": {"sent.txt": "`+canary+`"}}`)
	call("PUT", "/v1/workloads", `{"sourc": "`+canary+`"}`)
	for _, below := range []string{"", "/releases", "/rollouts", "/logs"} {
		call("GET", "/v1/workloads/shop"+below, "")
	}
	call("POST", "/v1/workloads/shop/rollback", `{}`)
	call("GET", "/v1/workloads/shop/events", "")
	call("POST", "/v1/workloads/shop/restart", "")
	call("GET", "/v1/workloads", "")
	call("GET", "/v1/doctor", "")
	if out := execOutput(ctx, t, c, "read", "/etc/shop/inline"); out != canary {
		t.Errorf("inside is %q: the test planted nothing", out)
	}
	keys, err := d.Workloads.State.List(ctx, "")
	if err != nil || len(keys) < 2 {
		t.Fatalf("%v, %v", keys, err)
	}
	for _, key := range keys {
		rec, err := d.Workloads.State.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		// Variables are no secrets, and the records that say what runs hold them.
		if text := strings.ReplaceAll(string(rec.Value), `"TOKEN":"`+canary+`"`, ""); tells(text) || tells(key) {
			t.Errorf("record %s has it", key)
		}
	}
	call("DELETE", "/v1/workloads/shop", "")
	awaitGone(ctx, t, c, "shop")
	if left, err := d.Workloads.Vault.List(ctx, api.Tenant); err != nil || len(left) != 0 {
		t.Errorf("the vault keeps %v, %v", left, err)
	}
	if text := log.text(); tells(text) || !strings.Contains(text, "rollout moved") {
		t.Errorf("the log has it, or is empty: %.2000s", text)
	}
}

// execOutput runs a command in the workload shop.
func execOutput(ctx context.Context, t *testing.T, c *client.Client, command ...string) string {
	t.Helper()
	var out, bad strings.Builder
	code, err := c.Exec(ctx, client.Exec{Workload: "shop", Replica: -1, Command: command, Stdout: &out, Stderr: &bad})
	if err != nil || code != 0 {
		t.Fatalf("%v: %d, %v, %s", command, code, err, bad.String())
	}
	return out.String()
}
