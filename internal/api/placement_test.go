package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/wire"
)

func TestAnotherPlaceMakesNewContainersAndThePlanSaysSo(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	moved := edit(web, "services:", "node: {labels: {disk: ssd}}\nservices:")
	got := step(t, plan(t, d, moved), "web")
	want := []wire.FieldChange{{Field: "node", New: `labels {disk: "ssd"}`}}
	if !slices.Equal(got.Changes, want) || !strings.Contains(strings.Join(got.Notices, "\n"), "new containers of the same image take over") {
		t.Errorf("%+v", got)
	}
	apply(t, d, moved)
	if now := service(t, d, "web"); now.Active.Release != "v2" || now.Image != "a/web:1" || step(t, plan(t, d, moved), "web").Action != wire.ActionUnchanged {
		t.Errorf("after the change: %+v", now)
	}
}

func TestAnotherPlaceOfAServiceWithVolumesSaysThatTheyStay(t *testing.T) {
	d := start(t, nil)
	volume := web + "    volumes: [{name: data, path: /data}]\n"
	apply(t, d, volume)
	got := step(t, plan(t, d, edit(volume, "services:", "node: big\nservices:")), "web")
	if !strings.Contains(strings.Join(got.Notices, "\n"), "its volumes are on one node") || len(got.Interrupts) > 0 {
		t.Errorf("%+v", got)
	}
	kept := step(t, plan(t, d, edit(volume, "services:", "on_disconnect: keep\nservices:")), "web")
	if !strings.Contains(strings.Join(kept.Notices, "\n"), "only what follows the loss of a node changes") {
		t.Errorf("%+v", kept)
	}
}

func TestARollbackLeavesAServiceWhereItIs(t *testing.T) {
	d := start(t, nil)
	apply(t, d, web)
	apply(t, d, edit(web, "web:1", "web:2", "services:", "node: big\nservices:"))
	result := rollback(t, d, wire.RollbackRequest{Service: "web"})
	for _, c := range step(t, result.Plan, "web").Changes {
		if c.Field == "node" {
			t.Errorf("the rollback changes the node: %+v", c)
		}
	}
}
