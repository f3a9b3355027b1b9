package main

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestNoTwoVersionsInARowAreTheSame(t *testing.T) {
	h := newHistory()
	serving, rolled := h.now.serves(), 0
	for _, c := range h.steps(40) {
		if c.to.serves() == serving {
			t.Errorf("%v: %s serves already", c, serving)
		}
		serving = c.to.serves()
		if c.rolls() {
			rolled++
		}
	}
	if rolled != 40 {
		t.Errorf("%d changes roll, want 40", rolled)
	}
}

func TestARollbackGoesToTheVersionBefore(t *testing.T) {
	h := newHistory()
	before, serving := shape{}, h.now
	for _, c := range h.steps(20) {
		if c.kind == kindRollback && c.to != before {
			t.Errorf("%v goes to %+v, want %+v", c, c.to, before)
		}
		before, serving = serving, c.to
	}
}

func TestKillsAreEnoughAndAtMomentsThatCome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := newHistory().steps(rapid.IntRange(1, 30).Draw(t, "changes"))
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

func TestAFullPlanHasEveryMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := newHistory().steps(fullChanges)
		plan := planKills(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), steps, fullKills)
		seen := map[moment]bool{}
		for _, k := range plan {
			seen[k.at] = true
		}
		if len(seen) != len(allMoments) {
			t.Fatalf("the kills are at %v", seen)
		}
	})
}
