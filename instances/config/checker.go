package config

import (
	"fmt"
	"slices"
	"strings"
)

// checker collects problems, and knows where the values of a text stand. The
// zero one knows no places.
type checker struct {
	place    func(offset int) (line, column int)
	at       map[string]int // the offset of a path's value
	problems []Problem
	spoilt   map[string]bool // paths with a problem
	count    int
}

// seen remembers where a value stands.
func (k *checker) seen(path string, offset int) {
	if k.at == nil {
		k.at = map[string]int{}
	}
	k.at[path] = offset
}

// bad notes a problem at a path, unless the path or what it is in has one: what
// follows from a problem helps nobody.
func (k *checker) bad(path, format string, args ...any) {
	offset, known := -1, false
	for at := path; ; at = parent(at) {
		if k.spoilt[at] {
			return
		}
		if !known {
			offset, known = k.lookup(at)
		}
		if at == "" {
			break
		}
	}
	k.badAt(offset, path, format, args...)
}

func (k *checker) lookup(path string) (offset int, known bool) {
	if offset, known = k.at[path]; known {
		return offset, true
	}
	return -1, false
}

func (k *checker) badAt(offset int, path, format string, args ...any) {
	if k.spoilt == nil {
		k.spoilt = map[string]bool{}
	}
	k.spoilt[path] = true
	if k.count++; k.count > maxProblems {
		return
	}
	p := Problem{Path: path, Message: fmt.Sprintf(format, args...)}
	if k.place != nil && offset >= 0 {
		p.Line, p.Column = k.place(offset)
	}
	k.problems = append(k.problems, p)
}

// parent is the path of what a path is in.
func parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// errors is nil or an *Errors with all problems in the order of the text.
func (k *checker) errors(name string) error {
	if len(k.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(k.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	problems := k.problems
	if k.count > maxProblems {
		problems = append(problems, Problem{Message: fmt.Sprintf("and %d more", k.count-maxProblems)})
	}
	return &Errors{Name: name, Problems: problems}
}
