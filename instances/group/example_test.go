package group_test

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/group"
)

// A machine that is made of something else than its group is now gets one more beside
// it, and goes when that one serves.
func ExamplePlan() {
	now, free := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), ""
	machine := func(id, hash string, age time.Duration) group.Member {
		return group.Member{
			ID: id, Hash: hash, Named: true, Held: &free,
			CreatedAt: now.Add(-age), RegisteredAt: now.Add(-age), HeardAt: now,
		}
	}
	o := group.Observed{
		Now: now, Since: now.Add(-time.Hour),
		Want:    group.Want{Size: 1, Hash: "new", DrainTimeout: time.Minute},
		Timing:  group.Timing{Health: time.Minute},
		Members: []group.Member{machine("a", "old", 50*time.Minute)},
	}
	for _, a := range group.Plan(o).Actions {
		fmt.Println(a.Kind, a.Why)
	}
	o.Members = append(o.Members, machine("b", "new", 5*time.Minute))
	for _, a := range group.Plan(o).Actions {
		fmt.Println(a.Kind, a.ID, a.Why)
	}
	// Output:
	// launch to replace a: its group is made of something else now
	// drain a its group is made of something else now
}
