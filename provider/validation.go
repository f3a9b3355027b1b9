package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problem is one rule that a request breaks.
type Problem struct {
	// Path leads to the value, as in "services[1].ports[0].host".
	Path string

	// Message says what is wrong and what would be right. It quotes names and
	// never values of variables, files or secrets.
	Message string
}

// ValidationError lists every rule that a request breaks. It is an ErrInvalid.
type ValidationError struct {
	Problems []Problem
}

// Error lists the problems, one a line when there are several.
func (e *ValidationError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Path + ": " + p.Message
	}
	if len(lines) == 1 {
		return "invalid: " + lines[0]
	}
	return fmt.Sprintf("invalid, %d problems:\n%s", len(lines), strings.Join(lines, "\n"))
}

// Is makes every ValidationError an ErrInvalid.
func (e *ValidationError) Is(target error) bool { return target == ErrInvalid }

// problems collects what is wrong with a request.
type problems struct{ list []Problem }

// maxProblems bounds what a hostile request can make us write.
const maxProblems = 100

func (p *problems) add(path, format string, args ...any) {
	if len(p.list) < maxProblems {
		p.list = append(p.list, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &ValidationError{Problems: p.list}
}

// at is the path of an element of a list.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func require(p *problems, where, value string) {
	if strings.TrimSpace(value) == "" {
		p.add(where, "is missing")
	}
}
