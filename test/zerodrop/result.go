package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

// result is what a run came to.
type result struct {
	load           load.Report
	changes, kills int
	kinds          map[kind]count
	crashes        int
	wrong          []string // what is not a failed request and still must not be
}

// count is what was made of one kind of change.
type count struct{ changes, kills int }

func (r *result) count(k kind, kills int) {
	r.changes++
	r.kinds[k] = count{r.kinds[k].changes + 1, r.kinds[k].kills + kills}
}

// table lists how often each kind of a plan's changes was made, and how many
// kills met it.
func (r result) table(plan []entry) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "changes\tkills\t")
	for _, k := range kindsOf(plan) {
		fmt.Fprintf(w, "%d\t%d\t  %s\n", r.kinds[k].changes, r.kinds[k].kills, k)
	}
	_ = w.Flush() // into memory
	return b.String()
}

func (r result) String() string {
	p99 := float64(r.load.P99) / float64(time.Millisecond)
	if r.crashes > 0 {
		return fmt.Sprintf("replica-crash: %d requests at %.0f/s, %d crashes, p99 %.1f ms, %d failed",
			r.load.Requests, r.load.Rate, r.crashes, p99, r.load.Failed)
	}
	return fmt.Sprintf("zero-drop: %d requests at %.0f/s, %d changes, %d kills, p99 %.1f ms, %d failed",
		r.load.Requests, r.load.Rate, r.changes, r.kills, p99, r.load.Failed)
}

// problems are the reasons why the run did not pass.
func (r result) problems(o options) []string {
	out := append([]string(nil), r.load.Examples...)
	out = append(out, r.wrong...)
	if r.load.Failed > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests failed", r.load.Failed, r.load.Requests))
	}
	if r.load.Rate < float64(o.rate) {
		out = append(out, fmt.Sprintf("%.1f requests a second were made; %d are needed", r.load.Rate, o.rate))
	}
	if o.crashes > 0 {
		if r.crashes < o.crashes {
			out = append(out, fmt.Sprintf("%d replicas were killed; %d have to be", r.crashes, o.crashes))
		}
		return out
	}
	if r.changes < o.changes {
		out = append(out, fmt.Sprintf("%d changes were made; %d are needed", r.changes, o.changes))
	}
	for _, k := range kindsOf(o.plan) {
		if r.kinds[k].changes == 0 {
			out = append(out, fmt.Sprintf("no change of the kind %q was made", k))
		}
	}
	if r.kills < o.kills {
		out = append(out, fmt.Sprintf("the control plane was killed %d times; %d are needed", r.kills, o.kills))
	}
	return out
}
