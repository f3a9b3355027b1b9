package main

import "strings"

// transcript is what a top-level test and its subtests said, in order. Its
// beginning goes when it grows beyond maxOutput.
type transcript struct {
	lines []said
	size  int
	cut   bool
}

type said struct{ test, text string }

func (t *transcript) add(test, text string) {
	t.lines = append(t.lines, said{test, text})
	t.size += len(text)
	if t.size <= maxOutput {
		return
	}
	for t.size > maxOutput/2 {
		t.size -= len(t.lines[0].text)
		t.lines = t.lines[1:]
	}
	t.cut = true
}

func (t *transcript) all() string { return t.about(nil) }

// about is what the tests of a set said; nil: all of them.
func (t *transcript) about(tests map[string]bool) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	if t.cut {
		b.WriteString("[… the beginning is left out …]\n")
	}
	for _, l := range t.lines {
		if tests == nil || tests[l.test] {
			b.WriteString(l.text)
		}
	}
	return b.String()
}

// failing are the tests that failed: a parent of one always does.
func failing(results []result) map[string]bool {
	names := map[string]bool{}
	for _, t := range results {
		if t.outcome == "fail" {
			names[t.name] = true
		}
	}
	return names
}
