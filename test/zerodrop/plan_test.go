package main

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// fullSteps are the changes of a full run.
func fullSteps() []change {
	o := defaults()
	return newHistory(o.replicas).steps(o.plan, o.changes)
}

func TestTheFullPlanHasEveryKindOften(t *testing.T) {
	if n := len(fullSteps()); n < fullChanges {
		t.Errorf("%d changes, want %d", n, fullChanges)
	}
	want := []kind{
		"image, blue-green", "rollback, blue-green", "group, blue-green", "restart, blue-green", "scale up", "scale down",
		"image, rolling +1 -0", "restart, rolling", "group, rolling +50% -34%", "rollback, rolling",
		"variables and limits, blue-green", "image, rolling +0 -1", "group, rolling +1 -0", "image, rolling +100% -0",
	}
	if got := kindsOf(fullPlan); !slices.Equal(got, want) {
		t.Errorf("kinds %q\nwant  %q", got, want)
	}
}

func TestOnlyRestartsAndScalingKeepTheVersion(t *testing.T) {
	serving := newHistory(1).now.serves()
	for _, c := range fullSteps() {
		keeps := c.verb == doRestart || c.verb == doScaleUp || c.verb == doScaleDown
		if (c.to.serves() == serving) != keeps {
			t.Errorf("%v: %s serves already", c, serving)
		}
		serving = c.to.serves()
	}
}

func TestARollbackGoesToTheReleaseBefore(t *testing.T) {
	h := newHistory(3)
	for _, tc := range []struct {
		verb   verb
		serves string
	}{
		{doImage, "v2"}, {doScaleUp, "v2"}, {doRollback, "v1"}, {doRollback, "v2"},
		{doSettings, "c5"}, {doRestart, "c5"}, {doRollback, "c5"}, // to the release before the restart
	} {
		c := h.next(entry{verb: tc.verb, by: 1})
		if c.to.serves() != tc.serves || c.verb == doRollback && c.to.replicas != 4 {
			t.Errorf("%v, want to version %s", c, tc.serves)
		}
	}
}

func TestScalingComesBackToWhereItBegan(t *testing.T) {
	h := newHistory(3)
	h.steps(fullPlan, 2*len(fullPlan))
	if h.now.replicas != 3 || h.now.group {
		t.Errorf("the last change leaves %+v", h.now)
	}
}

func TestKillsAreEnoughAndAtMomentsThatCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := fullSteps()
		needed := rapid.IntRange(0, len(steps)).Draw(t, "kills")
		plan := planKills(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), steps, needed)
		if len(plan) < needed {
			t.Fatalf("%d kills are planned, %d needed", len(plan), needed)
		}
		for _, c := range steps {
			if k, ok := plan[c.number]; ok && !k.at.of(c) {
				t.Fatalf("%v: a kill at %s", c, k.at)
			}
		}
	})
}

func TestAFullPlanHasEveryMomentAndKillsToSpare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := planKills(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), fullSteps(), fullKills)
		seen, kills := map[moment]bool{}, 0
		for _, k := range plan {
			seen[k.at] = true
			kills++
			if k.again > 0 {
				kills++
			}
		}
		if len(seen) != len(allMoments) {
			t.Fatalf("the kills are at %v", seen)
		}
		if kills < fullKills*5/4 {
			t.Fatalf("%d kills are planned; a moment may be missed", kills)
		}
	})
}
