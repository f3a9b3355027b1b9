package main

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

// result is what a run came to.
type result struct {
	load           load.Report
	changes, kills int
	crashes        int
	wrong          []string // what is not a failed request and still must not be
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
	if r.kills < o.kills {
		out = append(out, fmt.Sprintf("the control plane was killed %d times; %d are needed", r.kills, o.kills))
	}
	return out
}
