package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// report prints an error and what to do about it on standard error.
func (a *app) report(err error) {
	var f *failure
	if errors.As(err, &f) && f.quiet {
		return
	}
	p := a.describe(err)
	if a.json() {
		data, jsonErr := json.MarshalIndent(p, "", "  ")
		if jsonErr == nil {
			fmt.Fprintln(a.env.Stderr, string(data))
			return
		}
	}
	text := p.Title
	if p.Detail != "" {
		text = p.Detail
	}
	fmt.Fprintf(a.env.Stderr, "%s %s\n", a.err.red("error:"), printable(text))
	for _, e := range p.Errors {
		fmt.Fprintf(a.env.Stderr, "  %s\n", printable(e.String()))
	}
	if p.Hint != "" {
		fmt.Fprintf(a.env.Stderr, "%s\n", printable(p.Hint))
	}
}

// describe makes a problem of any error, so that there is one way to print it.
func (a *app) describe(err error) *wire.Problem {
	var p *wire.Problem
	var f *failure
	switch {
	case errors.As(err, &f):
		return &wire.Problem{Type: failureType(f.code), Title: "Failed", Detail: f.what, Hint: f.hint}
	case errors.As(err, &p):
		return p
	case errors.Is(err, client.ErrUnreachable):
		return a.unreachable(err)
	case errors.Is(err, context.Canceled):
		return &wire.Problem{Type: wire.ProblemInternal, Title: "Interrupted", Detail: "interrupted"}
	}
	return &wire.Problem{Type: wire.ProblemInternal, Title: "Failed", Detail: err.Error()}
}

// problemUnreachable is the one kind that no daemon can report.
const problemUnreachable wire.ProblemType = "urn:berth:problem:unreachable"

// unreachable says why nothing answers, as far as the socket tells.
func (a *app) unreachable(err error) *wire.Problem {
	p := &wire.Problem{
		Type: problemUnreachable, Title: "The daemon does not answer",
		Hint: "Is berthd running? Start it with `systemctl start berthd` or `berthd server`,\nor name its socket with --socket or BERTH_SOCKET.",
	}
	p.Detail = deaf(a.socket, err)
	if errors.Is(err, fs.ErrPermission) {
		p.Hint = notYours
	}
	return p
}

const notYours = "The socket belongs to the user that runs berthd. Run berth as that user or as root,\nfor example with sudo."

// deaf says what is wrong with a socket that does not answer.
func deaf(socket string, err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("not allowed to connect to %s", socket)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no socket %s", socket)
	case strings.Contains(err.Error(), "connection refused"):
		return fmt.Sprintf("nobody listens on %s", socket)
	}
	return fmt.Sprintf("nothing answers on %s", socket)
}

func failureType(code int) wire.ProblemType {
	switch code {
	case exitUsage:
		return wire.ProblemInvalidRequest
	case exitConfirm:
		return wire.ProblemNeedsConfirmation
	case exitNotFound:
		return wire.ProblemNotFound
	case exitUnreachable:
		return problemUnreachable
	}
	return "urn:berth:problem:failed"
}
