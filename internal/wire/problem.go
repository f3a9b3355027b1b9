package wire

import (
	"fmt"
	"strings"
)

// ProblemType names a kind of failure; clients branch on it, never on a text.
type ProblemType string

// The kinds of failure.
const (
	ProblemInvalidSpec       ProblemType = "urn:berth:problem:invalid-spec"
	ProblemInvalidRequest    ProblemType = "urn:berth:problem:invalid-request"
	ProblemNeedsConfirmation ProblemType = "urn:berth:problem:needs-confirmation"
	ProblemConflict          ProblemType = "urn:berth:problem:conflict"
	ProblemNameTaken         ProblemType = "urn:berth:problem:name-taken"
	ProblemDomainTaken       ProblemType = "urn:berth:problem:domain-taken"
	ProblemNotFound          ProblemType = "urn:berth:problem:not-found"
	ProblemForbidden         ProblemType = "urn:berth:problem:forbidden"
	ProblemTooLarge          ProblemType = "urn:berth:problem:too-large"
	ProblemMethod            ProblemType = "urn:berth:problem:method-not-allowed"
	ProblemBusy              ProblemType = "urn:berth:problem:busy"
	ProblemInternal          ProblemType = "urn:berth:problem:internal"

	// ProblemRolloutOpen: another change of the workload is under way.
	ProblemRolloutOpen ProblemType = "urn:berth:problem:rollout-open"
	// ProblemShapeFixed: the file asks for what no release of a workload can change.
	ProblemShapeFixed ProblemType = "urn:berth:problem:shape-fixed"
	// ProblemNotSupported: the provider cannot do it.
	ProblemNotSupported ProblemType = "urn:berth:problem:not-supported"
	// ProblemNoRecord: the workload runs, and what it should be was lost.
	ProblemNoRecord ProblemType = "urn:berth:problem:no-record"

	// ProblemNotRunning: no container that a command could run in runs now.
	ProblemNotRunning ProblemType = "urn:berth:problem:not-running"
	// ProblemNoCommand: the container has no such program.
	ProblemNoCommand ProblemType = "urn:berth:problem:no-such-command"
	// ProblemCommandRefused: the container has the program and cannot run it.
	ProblemCommandRefused ProblemType = "urn:berth:problem:command-refused"
)

// Problem is an RFC 9457 problem document, and an error.
type Problem struct {
	Type   ProblemType    `json:"type" doc:"Kind of failure."`
	Title  string         `json:"title" doc:"The kind in words; the same for every occurrence."`
	Status int            `json:"status" doc:"HTTP status code."`
	Detail string         `json:"detail,omitempty" doc:"What happened this time."`
	Hint   string         `json:"hint,omitempty" doc:"What to do about it."`
	Errors []ProblemError `json:"errors,omitempty" doc:"Every single fault found."`
	// Plan accompanies ProblemNeedsConfirmation.
	Plan *Plan `json:"plan,omitempty" doc:"What would be done once it is confirmed."`
}

// ProblemError is one fault among several.
type ProblemError struct {
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty" doc:"What to do about it."`
	Location string `json:"location,omitempty" doc:"Path of the faulty field."`
	File     string `json:"file,omitempty" doc:"Name of the file, when the fault is in one."`
	Line     int    `json:"line,omitempty" doc:"Line in the file, from 1."`
	Column   int    `json:"column,omitempty" doc:"Column in the line, from 1."`
}

// Error says what happened, in one line or more.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	for _, e := range p.Errors {
		b.WriteString("\n  " + e.String())
	}
	return b.String()
}

// GetStatus is the HTTP status code.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the media type of the document, whatever was negotiated.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// String is the fault on one line, its place in front.
func (e ProblemError) String() string {
	var b strings.Builder
	if e.Line > 0 {
		if e.File != "" {
			b.WriteString(e.File + ":")
		}
		fmt.Fprintf(&b, "%d:%d: ", e.Line, e.Column)
	}
	if e.Location != "" {
		b.WriteString(e.Location + ": ")
	}
	b.WriteString(e.Message)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}
