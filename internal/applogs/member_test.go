package applogs

import (
	"testing"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestALineSaysWhichMemberOfItsGroupPrintedIt(t *testing.T) {
	labels := map[string]string{docker.LabelService: "shop-web", docker.LabelReplica: "1"}
	for name, want := range map[string]string{"shop-web-0a1b2c3d-r1": "", "shop-web-0a1b2c3d-r1.proxy": "proxy"} {
		if got := originOf("shop", name, labels); got.member != want || got.service != "web" || got.replica != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if got := keptOrigin("shop", store.KeptLog{Container: name, Service: "shop-web"}); got.member != want {
			t.Errorf("kept %s: %+v", name, got)
		}
	}
}

func TestTheMainContainerGoesByTwoNames(t *testing.T) {
	for _, tc := range []struct {
		members    []string
		main, side bool
	}{
		{nil, true, true}, {[]string{"main"}, true, false}, {[]string{"web"}, true, false},
		{[]string{"proxy"}, false, true}, {[]string{"other"}, false, false}, {[]string{"proxy", "main"}, true, true},
	} {
		q := wire.LogQuery{Members: tc.members}
		if main, side := q.Wants("web", ""), q.Wants("web", "proxy"); main != tc.main || side != tc.side {
			t.Errorf("%q: main %t, sidecar %t", tc.members, main, side)
		}
	}
}
