package workloads_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
)

// lines are changes, one a line.
func lines(all []wire.WorkloadFieldChange) []string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %s: %s -> %s", c.Service, c.Field, c.Old, c.New))
	}
	return out
}

const planned = `name: shop
rollout: {strategy: rolling}
services:
  cache: {role: sidecar, image: shop:1, ports: [6379]}
  web:
    image: shop:1
    replicas: 2
    depends_on: [cache]
    args: ["--level", "3"]
    env: {MODE: planted-value}
    resources: {memory: 64Mi, cpu: 500m}
    ports: [8080, {port: 9090, public: true}]
    volumes: [{name: data, path: /data, shared: true}]
    readiness: {path: /healthz, interval: 50ms}
    secrets: [{key: shop/TOKEN, env: TOKEN}]
    config_files: [{name: settings, path: /etc/shop/settings, content: planted-content}]
    stop_grace: 3s
`

func TestThePlanOfANewWorkloadSaysWhatIsMade(t *testing.T) {
	r := newRig(t)
	change, err := r.Service.Apply(r.ctx, r.file(planned), workloads.With{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		" rollout.strategy:  -> rolling",
		"cache image:  -> shop:1", "cache role:  -> sidecar", "cache ports:  -> [6379]",
		"web image:  -> shop:1", "web role:  -> main", "web depends_on:  -> [cache]", `web args:  -> ["--level", "3"]`,
		"web env.MODE:  -> (hidden)", "web replicas:  -> 2", "web resources.memory:  -> 64Mi", "web resources.cpu:  -> 500m",
		"web ports:  -> [8080, {port: 9090, public: true}]", "web volumes:  -> [{name: data, path: /data, shared: true}]",
		"web readiness:  -> {path: /healthz, interval: 50ms}", "web secrets[shop/TOKEN]:  -> env TOKEN",
		"web config_files[settings]:  -> /etc/shop/settings", "web stop_grace:  -> 3s",
	}
	if got := lines(change.Changes); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestThePlanOfAChangeSaysWhatWasAndWhatComes(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	put(t, r, "shop/TOKEN", "one")
	if _, err := r.Service.Apply(r.ctx, r.file(planned), workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	put(t, r, "shop/TOKEN", "two")
	for _, tc := range []struct {
		name, old, now string
		want           []string
	}{
		{"a secret of another value", "", "", nil},
		{"an image", "    image: shop:1", "    image: shop:2", []string{"web image: shop:1 -> shop:2"}},
		{"a size", "memory: 64Mi, cpu: 500m", "memory: 1Gi", []string{"web resources.memory: 64Mi -> 1Gi", "web resources.cpu: 500m -> "}},
		{"replicas", "replicas: 2", "replicas: 3", []string{"web replicas: 2 -> 3"}},
		{"a variable", "planted-value", "planted-other", []string{"web env.MODE: (hidden) -> (hidden)"}},
		{"a variable more", "{MODE:", "{LEVEL: 3, MODE:", []string{"web env.LEVEL:  -> (hidden)"}},
		{"a port", ", {port: 9090, public: true}", "", []string{"web ports: [8080, {port: 9090, public: true}] -> [8080]"}},
		{"a check", "interval: 50ms", "interval: 60ms", []string{"web readiness: {path: /healthz, interval: 50ms} -> {path: /healthz, interval: 60ms}"}},
		{"no check", "    readiness: {path: /healthz, interval: 50ms}\n", "", []string{"web readiness: {path: /healthz, interval: 50ms} -> "}},
		{"a content", "planted-content", "planted-news", []string{"web config_files[settings]: (hidden) -> (hidden)"}},
		{"arguments", `"3"`, `"4"`, []string{`web args: ["--level", "3"] -> ["--level", "4"]`}},
		{"a long argument", `"3"`, `"` + strings.Repeat("x", 100) + `"`, []string{`web args: ["--level", "3"] -> ["--level", "` + strings.Repeat("x", 60) + `…"]`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			change, err := r.Service.Apply(r.ctx, r.file(strings.Replace(planned, tc.old, tc.now, 1)), workloads.With{DryRun: true})
			if err != nil {
				t.Fatal(err)
			}
			got := lines(change.Changes)
			want := append(slices.Clone(tc.want), "web secrets[shop/TOKEN]: (hidden) -> (hidden)")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if text := strings.Join(got, "\n"); strings.Contains(text, "planted") {
				t.Errorf("it tells a value: %s", text)
			}
		})
	}
}

func TestTheDryRunOfACorrectionIsThatOfAChange(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	if _, err := r.apply("broken:1"); err != nil {
		t.Fatal(err)
	}
	r.await("failed", func(w wire.WorkloadStatus) bool { return w.Rollout.Ended() })
	file := func(image string) (wire.WorkloadChange, error) {
		return r.Service.Apply(r.ctx, r.file("name: shop\nservices:\n  web: {image: '"+image+"', ports: [8080]}\n"), workloads.With{DryRun: true})
	}
	change, err := file("shop:1")
	if err != nil || change.Action != wire.WorkloadDeploy || !slices.Equal(lines(change.Changes), []string{"web image: broken:1 -> shop:1"}) {
		t.Errorf("corrected: %+v, %v", change, err)
	}
	if again, err := file("broken:1"); err != nil || again.Action != wire.WorkloadCreate {
		t.Errorf("again: %+v, %v", again, err)
	}
}
