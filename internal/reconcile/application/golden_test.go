package application

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden plans anew")

// TestPlansOfEachStory holds what is done, in which order, for each kind of
// change: one block per plan with effects.
func TestPlansOfEachStory(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			r := startRig(t)
			r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
			var b strings.Builder
			r.build = func() *Controller {
				c := r.controller()
				c.planned = func(_ *World, p Plan) {
					if len(p.Actions) == 0 {
						return
					}
					fmt.Fprintf(&b, "%s: %s\n", p.Condition.Status, p.Condition.Reason)
					for _, a := range p.Actions {
						fmt.Fprintf(&b, "  %s\n", a)
					}
				}
				return c
			}
			r.apply(story.first(r))
			r.settle(40, time.Minute)
			if story.then != nil {
				b.WriteString("--- changed\n")
				r.apply(story.then(r))
				r.settle(40, time.Minute)
			}
			compareGolden(t, filepath.Join("testdata", "plans", strings.ReplaceAll(story.name, " ", "-")+".golden"), b.String())
		})
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update to write it", err)
	}
	if got != string(want) {
		t.Errorf("plans differ from %s:\n%s", path, got)
	}
}
