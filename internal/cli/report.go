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

// unreachable says why nothing answers, as far as the socket tells.
func (a *app) unreachable(err error) *wire.Problem {
	p := &wire.Problem{
		Type: "urn:berth:problem:unreachable", Title: "The daemon does not answer",
		Detail: fmt.Sprintf("nothing answers on %s", a.socket),
		Hint:   "Is berthd running? Start it with `systemctl start berthd` or `berthd server`,\nor name its socket with --socket or BERTH_SOCKET.",
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		p.Detail = fmt.Sprintf("not allowed to connect to %s", a.socket)
		p.Hint = "The socket belongs to the user that runs berthd. Run berth as that user or as root,\nfor example with sudo."
	case errors.Is(err, fs.ErrNotExist):
		p.Detail = fmt.Sprintf("there is no socket %s", a.socket)
	case strings.Contains(err.Error(), "connection refused"):
		p.Detail = fmt.Sprintf("nobody listens on %s", a.socket)
	}
	return p
}

func failureType(code int) wire.ProblemType {
	switch code {
	case exitUsage:
		return wire.ProblemInvalidRequest
	case exitConfirm:
		return wire.ProblemNeedsConfirmation
	case exitNotFound:
		return wire.ProblemNotFound
	}
	return "urn:berth:problem:failed"
}
