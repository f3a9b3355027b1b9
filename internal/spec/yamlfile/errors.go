package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is what every [*Errors] is, for errors.Is.
var ErrInvalid = errors.New("the file is not valid")

// MaxProblems bounds how many problems one report lists; the rest is counted.
const MaxProblems = 100

// Problem is one thing wrong in a file.
type Problem struct {
	Line   int    `json:"line"`           // from 1
	Column int    `json:"column"`         // from 1, in characters
	Path   string `json:"path,omitempty"` // "services.web.env.DB"; "" is the file itself
	What   string `json:"what"`           // what is wrong
	Do     string `json:"do,omitempty"`   // what to do about it
}

// String is the problem on one line, without the file's name.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d: ", p.Line, p.Column)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.What)
	if p.Do != "" {
		b.WriteString("; " + p.Do)
	}
	return b.String()
}

// Errors is everything that is wrong in a file, in the order of the file.
type Errors struct {
	File     string    `json:"file"`
	Problems []Problem `json:"problems"`       // at least one, at most 100
	More     int       `json:"more,omitempty"` // problems beyond those listed
}

// Error lists the problems, one a line, each as file:line:column: path: text.
func (e *Errors) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File + ":" + p.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more problems", e.File, e.More)
	}
	return b.String()
}

// Is makes every *Errors an [ErrInvalid].
func (e *Errors) Is(target error) bool { return target == ErrInvalid }

// add appends a problem, or counts it when the report is full.
func (e *Errors) add(p Problem) {
	if len(e.Problems) >= MaxProblems {
		e.More++
		return
	}
	e.Problems = append(e.Problems, p)
}

// Count is how many problems there are, listed or not.
func (e *Errors) Count() int { return len(e.Problems) + e.More }

// Sorted orders the problems by position.
func (e *Errors) Sorted() *Errors {
	slices.SortStableFunc(e.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}
