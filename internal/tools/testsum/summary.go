package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// slowTests is how many of the slowest tests are named, if they took slowFrom or longer.
const (
	slowTests = 5
	slowFrom  = 5 * time.Second
)

type slowTest struct {
	name string
	took time.Duration
}

// packageEnded counts a package's tests and prints its line.
func (r *report) packageEnded(e event) {
	p := r.pkg(e.Package)
	delete(r.pkgs, e.Package)
	if len(p.results) == 0 && e.Action != "fail" {
		r.untested++
		return
	}
	failedBefore := r.failed
	for _, t := range counted(p.results) {
		r.count(e.Package, t)
	}
	for _, t := range p.results {
		if !strings.Contains(t.name, "/") && t.elapsed >= slowFrom {
			r.slow = append(r.slow, slowTest{e.Package + " " + t.name, t.elapsed})
		}
	}
	took := time.Duration(e.Elapsed * float64(time.Second)).Round(10 * time.Millisecond)
	if e.Action != "fail" {
		fmt.Fprintf(r.out, "ok    %s %s\n", e.Package, took)
		return
	}
	if r.failed == failedBefore {
		r.failed++ // it did not build, panicked, or ran out of time
	}
	// A test that never ended is still here with what it said.
	for _, b := range p.output {
		fmt.Fprint(r.out, b.all())
	}
	if e.FailedBuild != "" {
		fmt.Fprintf(r.out, "FAIL  %s did not build\n", e.Package)
		return
	}
	fmt.Fprintf(r.out, "FAIL  %s %s\n", e.Package, took)
}

func (r *report) count(pkg string, t result) {
	switch t.outcome {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.broken = append(r.broken, pkg+" "+t.name)
	case "skip":
		r.skipped++
		reason := t.reason
		if reason == "" {
			reason = "it gave no reason"
		}
		r.left = append(r.left, fmt.Sprintf("%s %s: %s", pkg, t.name, reason))
	}
}

// counted drops the tests that only hold others: what their subtests say is
// counted instead. One that failed though none of its subtests did counts.
func counted(results []result) []result {
	type below struct{ any, failed bool }
	parents := map[string]below{}
	for _, t := range results {
		for name := t.name; ; {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				break
			}
			name = name[:i]
			b := parents[name]
			parents[name] = below{true, b.failed || t.outcome == "fail"}
		}
	}
	return slices.DeleteFunc(slices.Clone(results), func(t result) bool {
		b := parents[t.name]
		return b.any && (b.failed || t.outcome != "fail")
	})
}

// close prints what was left out and the closing line.
func (r *report) close() {
	for name, p := range r.pkgs { // go test ended in the middle of these
		r.failed++
		for _, b := range p.output {
			fmt.Fprint(r.out, b.all())
		}
		fmt.Fprintf(r.out, "FAIL  %s was cut off\n", name)
	}
	slices.SortFunc(r.slow, func(a, b slowTest) int { return cmp.Compare(b.took, a.took) })
	if len(r.slow) > 0 {
		fmt.Fprintf(r.out, "\nslowest:\n")
		for _, s := range r.slow[:min(slowTests, len(r.slow))] {
			fmt.Fprintf(r.out, "  %6.1fs  %s\n", s.took.Seconds(), s.name)
		}
	}
	if len(r.left) > 0 {
		slices.Sort(r.left)
		fmt.Fprintf(r.out, "\nleft out:\n  %s\n", strings.Join(r.left, "\n  "))
	}
	if len(r.broken) > 0 {
		fmt.Fprintf(r.out, "\nfailed:\n  %s\n", strings.Join(r.broken, "\n  "))
	}
	if r.untested > 0 {
		fmt.Fprintf(r.out, "\n%d packages have no tests of their own\n", r.untested)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
