package workloads_test

import (
	"slices"
	"testing"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
)

// uses are those of the secrets of shop.
func uses(t *testing.T, r *rig) []workloads.SecretUse {
	t.Helper()
	all, err := r.Service.SecretUses(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(u workloads.SecretUse) bool { return u.Key[:5] != "shop/" })
}

func TestTheSecretsOfAWorkloadAreThoseOfWhatServesAndOfWhatComes(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	put(t, r, "shop/TOKEN", "one")
	put(t, r, "shop/SETTINGS", "{}")
	if got := uses(t, r); len(got) != 0 {
		t.Errorf("without a workload: %+v", got)
	}
	apply := func(source string) {
		t.Helper()
		if _, err := r.Service.Apply(r.ctx, r.file(source), workloads.With{}); err != nil {
			t.Fatal(err)
		}
	}
	apply(`name: shop
services:
  web:
    image: shop:1
    secrets:
      - {key: shop/TOKEN, env: MAYBE, optional: true}
      - {key: shop/TOKEN, env: TOKEN}
      - {key: shop/EXTRA, env: EXTRA, optional: true}
    config_files:
      - {name: settings, path: /etc/shop/settings.json, key: shop/SETTINGS}
      - {name: words, path: /etc/words/words.txt, content: hello}
`)
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	serves := []workloads.SecretUse{
		{Workload: "shop", Service: "web", Key: "shop/EXTRA", Optional: true},
		{Workload: "shop", Service: "web", Key: "shop/SETTINGS"},
		{Workload: "shop", Service: "web", Key: "shop/TOKEN"},
	}
	if got := uses(t, r); !slices.Equal(got, serves) {
		t.Errorf("got  %+v\nwant %+v", got, serves)
	}

	stop() // nothing drives it: the rollout stays under way
	put(t, r, "shop/LATER", "x")
	apply("name: shop\nservices:\n  web: {image: shop:2, secrets: [{key: shop/LATER, env: LATER}]}\n")
	both := slices.Insert(slices.Clone(serves), 1, workloads.SecretUse{Workload: "shop", Service: "web", Key: "shop/LATER"})
	if got := uses(t, r); !slices.Equal(got, both) {
		t.Errorf("under way: %+v", got)
	}
	r.again()
	defer r.run()()
	r.await("on v2", func(w wire.WorkloadStatus) bool { return w.Ready && w.Release == "v2" })
	if got := uses(t, r); !slices.Equal(got, both[1:2]) {
		t.Errorf("after it: %+v", got)
	}
}

func TestAWorkloadThatIsBeingDeletedUsesNoSecret(t *testing.T) {
	r := newRig(t)
	stop := r.run()
	put(t, r, "shop/TOKEN", "one")
	f := r.file("name: shop\nservices:\n  web: {image: shop:1, secrets: [{key: shop/TOKEN, env: TOKEN}]}\n")
	if _, err := r.Service.Apply(r.ctx, f, workloads.With{}); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func(w wire.WorkloadStatus) bool { return w.Ready })
	stop()
	if got := uses(t, r); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if _, err := r.Service.Delete(r.ctx, "shop"); err != nil {
		t.Fatal(err)
	}
	if got := uses(t, r); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
