package config

import (
	"errors"
	"fmt"
	"strings"
)

// What the errors of this package are, for errors.Is.
var (
	// ErrInvalid: a text, a group or a request breaks a rule. [*Errors] is one.
	ErrInvalid = errors.New("configuration: invalid")
	// ErrNotLoaded: nobody can say, as nothing was read yet or the last reading
	// failed. It is never a reason to remove anything.
	ErrNotLoaded = errors.New("configuration: not readable")
	// ErrGroupNotFound: a configuration that was read, and whose latest reading
	// did not fail, has no such group.
	ErrGroupNotFound = errors.New("configuration: no such group")
	// ErrTemplateNotFound: the same for a template.
	ErrTemplateNotFound = errors.New("configuration: no such template")
	// ErrRefused: what is asked may not be changed while the daemon runs.
	ErrRefused = errors.New("configuration: not to be changed here")
	// ErrContended: others changed the groups at every attempt; ask again.
	ErrContended = errors.New("configuration: the groups are being changed by others")
)

// Problem is one thing wrong in a text.
type Problem struct {
	// Line and Column count from 1, the column in characters; both are 0 where no
	// one place is wrong.
	Line, Column int
	// Path is where, such as groups.acme.workers.size.
	Path    string
	Message string
}

// maxProblems bounds an error about a hostile text.
const maxProblems = 100

// Errors is everything that is wrong in a text, in its order, of which the first
// hundred are kept.
type Errors struct {
	// Name is what the text is called.
	Name     string
	Problems []Problem
}

// Error has a line for each problem.
func (e *Errors) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = e.Name
		if p.Line > 0 {
			lines[i] += fmt.Sprintf(":%d:%d", p.Line, p.Column)
		}
		if p.Path != "" {
			lines[i] += ": " + p.Path
		}
		lines[i] += ": " + p.Message
	}
	return strings.Join(lines, "\n")
}

// Unwrap is ErrInvalid.
func (*Errors) Unwrap() error { return ErrInvalid }
