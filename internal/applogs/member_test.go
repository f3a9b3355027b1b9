package applogs

import (
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

func TestALineSaysWhichMemberOfItsGroupPrintedIt(t *testing.T) {
	labels := map[string]string{docker.LabelService: "shop-web", docker.LabelReplica: "1"}
	for name, want := range map[string]string{"shop-web-0a1b2c3d-r1": "", "shop-web-0a1b2c3d-r1.proxy": "proxy"} {
		if got := originOf("shop", name, labels).entry(docker.LogLine{}); got.Member != want || got.Service != "web" || got.Replica != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if got := keptOrigin("shop", store.KeptLog{Container: name, Service: "shop-web"}).entry(docker.LogLine{}); got.Member != want {
			t.Errorf("kept %s: %+v", name, got)
		}
	}
}
