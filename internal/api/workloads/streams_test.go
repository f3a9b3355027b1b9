package workloads_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

// TestTheTailIsThatOfAllReplicasTogether: each of three replicas prints one line.
func TestTheTailIsThatOfAllReplicasTogether(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, replicas: 3, ports: [8080]}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	read := func(opts provider.LogOptions) []provider.LogLine {
		t.Helper()
		var out []provider.LogLine
		if err := r.Service.Logs(r.ctx, "shop", opts, func(l provider.LogLine) error { out = append(out, l); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := read(provider.LogOptions{})
	if len(all) != 3 || len(read(provider.LogOptions{Tail: 7})) != 3 {
		t.Fatalf("%d lines: %+v", len(all), all)
	}
	for n := 1; n <= 3; n++ {
		got := read(provider.LogOptions{Tail: n})
		if len(got) != n {
			t.Fatalf("the last %d are %+v", n, got)
		}
		for i := 1; i < n; i++ {
			if got[i].Time.Before(got[i-1].Time) {
				t.Errorf("not in the order of time: %+v", got)
			}
		}
	}
}

func TestWhoFollowsFromATailMissesNothingAndHearsNothingTwice(t *testing.T) {
	r := newRig(t)
	defer r.run()()
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, replicas: 2, ports: [8080]}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	var got []string
	err := r.Service.Logs(ctx, "shop", provider.LogOptions{Tail: 1, Follow: true}, func(l provider.LogLine) error {
		got = append(got, l.Line)
		if len(got) == 1 {
			_, err := r.Service.DeployImages(ctx, "shop", map[string]string{"web": "shop:2"}, "", workloads.With{})
			return err
		}
		if len(got) == 3 {
			stop()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(got) != 3 || got[0] != "one listens" || got[1] != "two listens" || got[2] != "two listens" {
		t.Errorf("%v, %v", got, err)
	}
}
