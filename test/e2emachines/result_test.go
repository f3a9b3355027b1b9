package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/test/load"
)

func TestARunPassesOnlyIfNothingLeakedOrFailed(t *testing.T) {
	o := options{kills: 2, rate: 50}
	good := result{created: 8, registered: 8, kills: 2, died: 1000, lost: 3}
	if p := good.problems(o); len(p) > 0 {
		t.Errorf("a good run has problems: %q", p)
	}
	for word, change := range map[string]func(*result){
		"leaked: link bm1":   func(r *result) { r.leaked = []string{"link bm1"} },
		"1 of 10 requests":   func(r *result) { r.add(load.Report{Requests: 10, Failed: 1}) },
		"killed 1 times":     func(r *result) { r.kills = 1 },
		"7 registered":       func(r *result) { r.registered = 7 },
		"51 of 1000 request": func(r *result) { r.lost = 51 },
	} {
		r := good
		change(&r)
		if p := r.problems(o); !slices.ContainsFunc(p, func(s string) bool { return strings.Contains(s, word) }) {
			t.Errorf("%q is none of the problems %q", word, p)
		}
	}
}

func TestTheLastLineHasAllCounts(t *testing.T) {
	r := result{created: 8, registered: 7, leaked: []string{"a", "b"}, failed: 5}
	if got, want := r.String(), "machines: 8 created, 7 registered, 2 leaked, 5 failed requests"; got != want {
		t.Errorf("it is %q, not %q", got, want)
	}
}

func TestARotationReplacesOneMachineAtATime(t *testing.T) {
	for name, of := range map[string]struct {
		statuses string
		fails    bool
	}{
		"at rest":                       {"ready ready ready deleted deleted", false},
		"a replacement comes":           {"ready ready ready starting", false},
		"it is there":                   {"ready ready ready ready", false},
		"the old one drains":            {"ready ready ready draining", false},
		"the old one goes":              {"ready ready ready deleting", false},
		"drained before there is one":   {"ready ready draining starting", true},
		"gone before there is one":      {"ready ready deleted", true},
		"two replacements":              {"ready ready ready starting pending", true},
		"the next one is drained early": {"ready ready ready draining deleting", true},
		"one is silent":                 {"ready ready silent starting", true},
	} {
		var all []wire.Machine
		for _, status := range strings.Fields(of.statuses) {
			all = append(all, wire.Machine{Status: status})
		}
		if err := oneAtATime(count(all), 3); (err != nil) != of.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}
