package hosting_test

import (
	"context"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/provider"
)

// looks is a workload with some containers.
func looks(reason provider.Reason, refs ...string) *provider.InstanceStatus {
	s := provider.ServiceStatus{}
	for i, ref := range refs {
		began := time.Unix(int64(len(ref)), 0)
		s.Replicas = append(s.Replicas, provider.ReplicaStatus{Replica: i, ProviderRef: ref[:1], StartedAt: &began})
	}
	return &provider.InstanceStatus{Reason: reason, Services: map[string]provider.ServiceStatus{"app": s}}
}

// A container is its first letter, and when it started the number of letters.
func TestWhatARestartSees(t *testing.T) {
	rolling := provider.ReasonRollingOut
	for name, c := range map[string]struct {
		from        []string
		now         *provider.InstanceStatus
		done        bool
		wants, over bool
	}{
		"not begun":                      {from: []string{"a", "b"}, now: looks("", "a", "b"), wants: true},
		"begun, and not noted":           {from: []string{"a", "b"}, now: looks(rolling, "a", "b")},
		"half of it new":                 {from: []string{"a", "b"}, now: looks(rolling, "a", "c")},
		"all of it new, and not noted":   {from: []string{"a", "b"}, now: looks("", "c", "d"), over: true},
		"half of it new, and no rollout": {from: []string{"a", "b"}, now: looks("", "a", "c"), wants: true},
		"noted":                          {from: []string{"a"}, now: looks("", "a"), done: true},
		"noted, in its place":            {from: []string{"a"}, now: looks("", "aa"), done: true, over: true},
		"started again by itself":        {from: []string{"a"}, now: looks("", "aa"), wants: true},
		"nothing was there":              {now: looks(""), wants: true, over: true},
		"nothing was there, and now":     {now: looks("", "a"), over: true},
		"the provider knows of nothing":  {from: []string{"a"}, wants: true, over: true},
	} {
		wants, over := hosting.SeesRestart(looks("", c.from...), c.now, c.done)
		if wants != c.wants || over != c.over {
			t.Errorf("%s: it is to be told %t, want %t; it is over %t, want %t", name, wants, c.wants, over, c.over)
		}
	}
}

// However often the process is killed in a restart, the provider makes containers
// anew once.
func TestARestartThatIsCutIsMadeOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(three(), serves(1)))(w)
		told, kills, calm := 0, 0, false
		w.onMoments(func(_ int, what string) (error, bool) {
			switch {
			case what == "before restart":
				told++
			case !calm && (what == "after restart" || told > 0 && what == "before put leases/"+leaseIDs[0]):
				kills++
				return errKilled, true
			}
			return nil, false
		})
		if err := restart(w); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			_, _ = w.Step(context.Background(), leaseIDs[0])
			w.revive()
			<-time.After(time.Millisecond)
		}
		calm = true
		w.ends(t, ready, success, success)
		if told != 2 || kills < 2 {
			t.Errorf("after %d kills the provider was told %d times to restart one of 2", kills, told)
		}
	})
}
