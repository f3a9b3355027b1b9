package daemon

import (
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/internal/fleet"
)

func TestAMachineThatWasThereAMomentAgoIsExpectedBack(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	heard, soon := at.Add(-time.Hour), at.Add(backWithin)
	listed := fleet.Member{ID: "a", Since: heard}
	for name, tc := range map[string]struct {
		was    fleet.Member
		online bool
		since  time.Time
		backBy time.Time
	}{
		"at the first look":        {was: fleet.Member{}, since: heard, backBy: soon},
		"when it went":             {was: fleet.Member{ID: "a", Online: true, Since: heard}, since: at, backBy: soon},
		"while it is away":         {was: fleet.Member{ID: "a", Since: heard.Add(1), BackBy: heard.Add(2)}, since: heard.Add(1), backBy: heard.Add(2)},
		"never while it is here":   {was: fleet.Member{ID: "a", Since: heard, BackBy: soon}, online: true, since: at.Add(-time.Second)},
		"when it is seen at first": {online: true, since: at.Add(-time.Second)},
	} {
		got := connected(listed, tc.was, hub.Node{Connected: at.Add(-time.Second)}, tc.online, at)
		if got.Online != tc.online || !got.Since.Equal(tc.since) || !got.BackBy.Equal(tc.backBy) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
