package cli

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// The exit codes. They are part of the interface: a number keeps its meaning.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitConfirm     = 3
	exitNotFound    = 4
	exitUnreachable = 5
	exitConflict    = 6
	exitForbidden   = 7
	exitInterrupted = 130
)

const exitCodesHelp = `Every command ends with one of these codes:

  0    it worked: the change is done, or there was nothing to do
  1    it failed: the deploy did not succeed, a check of doctor failed, or the
       daemon met a fault of its own
  2    the command line, the app file or the request is not valid; nothing changed
  3    the change interrupts or removes something and was not confirmed;
       nothing changed
  4    there is no such app, service, release, attempt, workload, provider, node,
       machine or lease
  5    the daemon, or the backend, does not answer
  6    somebody else changed the app meanwhile, a name or domain is taken, or a
       rollout of the workload is under way; nothing changed
  7    the caller may not do that
  130  interrupted with Ctrl-C; a deploy that was under way goes on

"berth exec" and "berth workload exec" pass the exit code of the command on.
What goes wrong on our side has codes of its own there:

  125  the command did not run: whatever the reason, the command line included
  126  the program is in the container and cannot be run
  127  the program is not in the container
  130  interrupted with Ctrl-C`

// failure is an error with an exit code and advice.
type failure struct {
	code int
	what string
	hint string
	err  error // cause, for errors.Is; may be nil
	// quiet: everything was said already.
	quiet bool
	// passed: the code is that of a program that was run.
	passed bool
}

func (f *failure) Error() string { return f.what }
func (f *failure) Unwrap() error { return f.err }

func usage(what, hint string) error { return &failure{code: exitUsage, what: what, hint: hint} }

// exitCode is the code for an error; 0 for none.
func exitCode(err error) int {
	var f *failure
	var p *wire.Problem
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, client.ErrUnreachable):
		return exitUnreachable
	case errors.As(err, &p):
		return problemCode(p.Type)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

func problemCode(t wire.ProblemType) int {
	switch t {
	case wire.ProblemInvalidSpec, wire.ProblemInvalidRequest, wire.ProblemTooLarge, wire.ProblemMethod, wire.ProblemNotSupported:
		return exitUsage
	case wire.ProblemNeedsConfirmation:
		return exitConfirm
	case wire.ProblemNotFound:
		return exitNotFound
	case wire.ProblemConflict, wire.ProblemNameTaken, wire.ProblemDomainTaken, wire.ProblemRolloutOpen, wire.ProblemShapeFixed, wire.ProblemNoRecord:
		return exitConflict
	case wire.ProblemForbidden:
		return exitForbidden
	}
	return exitFailed
}
