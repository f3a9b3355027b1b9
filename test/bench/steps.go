package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// stepsOfOne is when each step of one deploy was over, counted from its begin.
type stepsOfOne struct{ at map[string]time.Duration }

func (s *stepsOfOne) note(step string, at time.Duration) {
	if s.at == nil {
		s.at = map[string]time.Duration{}
	}
	if _, ok := s.at[step]; !ok {
		s.at[step] = at
	}
}

// steps is that of many.
type steps struct{ at map[string][]time.Duration }

func (s *steps) add(one *stepsOfOne) {
	if s.at == nil {
		s.at = map[string][]time.Duration{}
	}
	for step, at := range one.at {
		s.at[step] = append(s.at[step], at)
	}
}

// print shows the median of each in order.
func (s *steps) print() {
	names := slices.SortedFunc(maps.Keys(s.at), func(a, b string) int { return cmp.Compare(median(s.at[a]), median(s.at[b])) })
	for _, n := range names {
		fmt.Printf("  %8.1f ms  %s (%d)\n", float64(median(s.at[n]))/float64(time.Millisecond), n, len(s.at[n]))
	}
}
