package dockerprovider

import (
	"context"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

// provision begins a workload, or repeats the request.
func (h *history) provision(w *wished) {
	_ = h.call("Provision", func() error { _, err := h.p.Provision(context.Background(), w.req); return err })
	if w.exists {
		return
	}
	first := wish{id: w.req.InitialRelease(), value: "0"}
	*w = wished{req: w.req, exists: true, replicas: 1, releases: []wish{first}, target: first}
}

// deploy asks for another release, which may find one on its way.
func (h *history) deploy(w *wished) {
	next := wish{
		id: id.New(id.KindRelease), value: strconv.Itoa(rapid.IntRange(1, 3).Draw(h.rt, "value")),
		bad: rapid.IntRange(0, 2).Draw(h.rt, "bad") == 0,
	}
	change := provider.ServiceDeploySpec{Name: "web", Image: "program:2", Env: map[string]string{"VALUE": next.value}}
	change.Args = []string{"listen:8080", "wait"}
	if next.bad {
		change.Args = rapid.SampledFrom([][]string{{"exit:7"}, {"wait"}}).Draw(h.rt, "args")
	}
	if rapid.Bool().Draw(h.rt, "file") {
		change.ConfigFiles = []provider.ConfigFile{{Name: "value", Path: "/etc/app/value", Content: next.value}}
	}
	req := provider.DeployRequest{InstanceID: w.req.InstanceID, ReleaseID: next.id, Services: []provider.ServiceDeploySpec{change}}
	if w.req.Kind != provider.KindStatefulSet {
		req.Strategy = rapid.SampledFrom([]string{"", provider.StrategyRolling, provider.StrategyBlueGreen}).Draw(h.rt, "strategy")
	}
	if h.call("Deploy", func() error { _, err := h.p.Deploy(context.Background(), req); return err }, provider.ErrBusy) != nil {
		return
	}
	w.releases, w.target, w.shaken = append(w.releases, next), next, false
}

// remembered is how many releases that served can surely be had back.
const remembered = 5

func (h *history) rollback(w *wished) {
	to := rapid.SampledFrom(w.served[max(0, len(w.served)-remembered):]).Draw(h.rt, "release")
	_ = h.call("Rollback", func() error { return h.p.Rollback(context.Background(), w.req.InstanceID, to) })
	w.target, w.shaken = w.release(to), false
}

func (h *history) scale(w *wished) {
	n := rapid.IntRange(1, 3).Draw(h.rt, "replicas")
	_ = h.call("Scale", func() error {
		return h.p.Scale(context.Background(), w.req.InstanceID, provider.ResourceSpec{Replicas: n})
	})
	w.replicas = n
}

// stop stops; nothing runs once the call has returned.
func (h *history) stop(w *wished) {
	_ = h.call("Stop", func() error { return h.p.Stop(context.Background(), w.req.InstanceID) })
	w.stopped, w.steady = true, false
	if running := h.running(w); len(running) > 0 {
		h.rt.Fatalf("Stop has returned, and there run %v", running)
	}
}

func (h *history) running(w *wished) []string {
	var out []string
	for _, c := range h.engine.Containers() {
		if c.Running() && c.Labels[docker.LabelInstance] == DefaultOwner && c.Labels[docker.LabelWorkload] == w.req.InstanceID.String() {
			out = append(out, c.Name)
		}
	}
	return out
}

func (h *history) start(w *wished) {
	_ = h.call("Start", func() error { return h.p.Start(context.Background(), w.req.InstanceID) })
	w.stopped = false
}

func (h *history) restarted(w *wished) {
	_ = h.call("Restart", func() error { return h.p.Restart(context.Background(), w.req.InstanceID) })
	w.stopped = false
}

// deprovision removes; nothing is left once the call has returned.
func (h *history) deprovision(w *wished) {
	_ = h.call("Deprovision", func() error { return h.p.Deprovision(context.Background(), w.req.InstanceID) })
	w.exists = false
	h.engine.ClearScript() // the look below is the test's own
	if left := h.leftovers(w.req.InstanceID); len(left) > 0 {
		h.rt.Fatalf("Deprovision has returned, and there is %v", slices.Compact(left))
	}
}
