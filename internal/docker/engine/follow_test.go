package engine

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
)

// A followed log that an engine cut off anywhere comes out once and whole.
func TestWhatAFollowedLogLeftOutIsDeliveredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var log []docker.LogLine
		clock := map[docker.Stream]time.Time{docker.Stdout: stampBase, docker.Stderr: stampBase}
		for range rapid.IntRange(0, 12).Draw(rt, "lines") {
			stream := rapid.SampledFrom([]docker.Stream{docker.Stdout, docker.Stderr}).Draw(rt, "stream")
			step := rapid.SampledFrom([]time.Duration{0, 1, time.Millisecond, time.Minute}).Draw(rt, "step")
			if step == time.Minute { // both streams, so that they stay within the skew
				clock[docker.Stdout], clock[docker.Stderr] = clock[docker.Stdout].Add(step), clock[docker.Stderr].Add(step)
			} else {
				clock[stream] = clock[stream].Add(step)
			}
			log = append(log, docker.LogLine{Time: clock[stream], Stream: stream, Text: rapid.StringN(0, 3, 3).Draw(rt, "text")})
		}
		cut := rapid.IntRange(0, len(log)).Draw(rt, "cut")
		var seen delivered
		got := slices.Clone(log[:cut])
		for _, l := range got {
			seen.note(l)
		}
		opts := seen.rest(docker.LogOptions{Follow: true})
		for _, l := range log {
			if !l.Time.Before(opts.Since) && !seen.covers(l) {
				got = append(got, l)
			}
		}
		// A stream of which nothing came is told from one the caller left out
		// by its times alone, so its older lines may stay out.
		var want []docker.LogLine
		for i, l := range log {
			silent := !slices.ContainsFunc(log[:cut], func(o docker.LogLine) bool { return o.Stream == l.Stream })
			newest := stampBase.Add(-1)
			for _, o := range log[:cut] {
				if o.Time.After(newest) {
					newest = o.Time
				}
			}
			if i < cut || !silent || !l.Time.Before(newest) {
				want = append(want, l)
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("cut at %d:\n got %v\nwant %v", cut, got, want)
		}
	})
}

func TestTheTailOfAFollowedLogStaysATail(t *testing.T) {
	var seen delivered
	opts := docker.LogOptions{Follow: true, Tail: 5}
	if got := seen.rest(opts); got.Tail != 0 || !got.Follow || !got.Since.IsZero() {
		t.Errorf("nothing delivered: %+v", got)
	}
	seen.note(docker.LogLine{Time: stampBase, Stream: docker.Stdout})
	older := docker.LogLine{Time: stampBase.Add(-time.Millisecond), Stream: docker.Stderr}
	if got := seen.rest(opts); got.Tail != 0 || got.Since.IsZero() || !seen.covers(older) {
		t.Errorf("one delivered: %+v", got)
	}
}
