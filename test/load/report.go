package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// maxExamples bounds how many failures are told in full.
const maxExamples = 20

// The kinds of traffic.
const (
	plainRequest = "request"
	slowRequest  = "slow request"
	eventStream  = "event stream"
	webSocket    = "WebSocket"
)

// Report is what became of the traffic.
type Report struct {
	Requests int            // of every kind; a stream or a WebSocket counts as one
	Failed   int            // of them
	Kinds    map[string]int // Requests by kind
	Rate     float64        // plain requests a second, as achieved
	P50      time.Duration  // of plain requests
	P99      time.Duration
	Max      time.Duration
	Versions map[string]int // plain answers by the version that gave them
	Examples []string       // the first failures, each with its time from the start
}

// String is the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d requests at %.0f/s, p50 %.1f ms, p99 %.1f ms, max %.0f ms, %s; %d failed requests",
		r.Requests, r.Rate, ms(r.P50), ms(r.P99), ms(r.Max), answers(r.Versions), r.Failed)
}

func answers(versions map[string]int) string {
	parts := []string{}
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		parts = append(parts, fmt.Sprintf("%d by %s", versions[v], v))
	}
	return "answered " + strings.Join(parts, ", ")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// tally collects results from all clients.
type tally struct {
	began time.Time

	mu      sync.Mutex
	metrics vegeta.Metrics
	r       Report
}

func newTally() *tally {
	return &tally{began: time.Now(), r: Report{Kinds: map[string]int{}, Versions: map[string]int{}}}
}

// attempt counts a request that is about to be made.
func (t *tally) attempt(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Kinds[kind]++
	t.r.Requests++
}

func (t *tally) failure(kind string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed(kind, time.Since(t.began), err)
}

// request counts a plain request that has ended.
func (t *tally) request(r *vegeta.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.r.Kinds[plainRequest]++
	t.r.Requests++
	t.metrics.Add(r)
	if err != nil {
		t.failed(plainRequest, r.End().Sub(t.began), err)
		return
	}
	t.r.Versions[r.Headers.Get("X-Version")]++
}

func (t *tally) failed(kind string, at time.Duration, err error) {
	t.r.Failed++
	if len(t.r.Examples) < maxExamples {
		t.r.Examples = append(t.r.Examples, fmt.Sprintf("after %.3f s, %s: %v", at.Seconds(), kind, err))
	}
}

func (t *tally) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.metrics.Close()
	t.r.Rate = t.metrics.Rate
	t.r.P50, t.r.P99, t.r.Max = t.metrics.Latencies.P50, t.metrics.Latencies.P99, t.metrics.Latencies.Max
	return t.r
}
