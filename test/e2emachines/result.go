package main

import (
	"fmt"

	"github.com/berth-cloud/berth/test/load"
)

// result is what a run counted.
type result struct {
	created, registered int // machines
	leaked              []string
	requests, failed    int // but for those while a machine died
	examples            []string
	kills               int // of the control plane
	died, lost          int // requests while a machine died, and how many of them failed
}

func (r *result) add(l load.Report) {
	r.requests += l.Requests
	r.failed += l.Failed
	r.examples = append(r.examples, l.Examples...)
}

func (r result) String() string {
	return fmt.Sprintf("machines: %d created, %d registered, %d leaked, %d failed requests", r.created, r.registered, len(r.leaked), r.failed)
}

// problems are why a run that came to its end did not pass.
func (r result) problems(o options) []string {
	out := append([]string(nil), r.examples...)
	for _, l := range r.leaked {
		out = append(out, "leaked: "+l)
	}
	if r.failed > 0 {
		out = append(out, fmt.Sprintf("%d of %d requests failed", r.failed, r.requests))
	}
	if r.kills < o.kills {
		out = append(out, fmt.Sprintf("the control plane was killed %d times; %d are needed", r.kills, o.kills))
	}
	if r.created != r.registered {
		out = append(out, fmt.Sprintf("of %d machines %d registered", r.created, r.registered))
	}
	if r.lost > o.rate {
		out = append(out, fmt.Sprintf("%d of %d requests failed while a machine died; there are %d in a second", r.lost, r.died, o.rate))
	}
	return out
}
