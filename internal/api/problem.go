package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

const problemJSON = "application/problem+json"

func forbidden(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemForbidden, Title: "Not allowed", Status: http.StatusForbidden, Detail: detail,
		Hint: "Call as root, or as the user that runs berthd.",
	}
}

func notFound(detail, hint string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemNotFound, Title: "Not found", Status: http.StatusNotFound, Detail: detail, Hint: hint,
	}
}

func conflict(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemConflict, Title: "Changed meanwhile", Status: http.StatusConflict, Detail: detail,
		Hint: "Somebody else changed the app since the plan was made. Make the plan again and look at it.",
	}
}

func invalidRequest(detail, hint string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemInvalidRequest, Title: "Invalid request", Status: http.StatusUnprocessableEntity,
		Detail: detail, Hint: hint,
	}
}

func busy(detail, hint string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemBusy, Title: "Not possible now", Status: http.StatusServiceUnavailable,
		Detail: detail, Hint: hint,
	}
}

func notRunning(detail, hint string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemNotRunning, Title: "Not running", Status: http.StatusConflict, Detail: detail, Hint: hint,
	}
}

func noEngine() *wire.Problem {
	return busy("this daemon has no container engine", "Start it with one.")
}

func noSuchApp(app string) *wire.Problem {
	return notFound(fmt.Sprintf("there is no app %q", app), "`berth status` lists the apps there are.")
}

func noSuchService(app, service string) *wire.Problem {
	return notFound(fmt.Sprintf("app %q has no service %q", app, service),
		fmt.Sprintf("`berth status %s` lists its services.", app))
}

// needsConfirmation refuses a change whose consequences were not accepted.
func needsConfirmation(plan wire.Plan, allowInterrupt, allowRemove bool) *wire.Problem {
	p := &wire.Problem{
		Type: wire.ProblemNeedsConfirmation, Title: "Confirmation needed", Status: http.StatusConflict,
		Detail: "the change interrupts or removes services", Plan: &plan,
		Hint: "Look at the plan; then repeat the request with allow_interrupt or allow_remove, as it needs.",
	}
	for _, s := range plan.Services {
		for _, i := range s.Interrupts {
			if !allowInterrupt {
				p.Errors = append(p.Errors, wire.ProblemError{Location: s.Service, Message: "is interrupted: " + i.Why})
			}
		}
		if s.Action == wire.ActionDelete && !allowRemove {
			p.Errors = append(p.Errors, wire.ProblemError{Location: s.Service, Message: "is removed"})
		}
	}
	return p
}

// invalidSpec turns the faults of an app file into a problem document.
func invalidSpec(err error) error { return invalidFile("app", err) }

// invalidFile turns the faults of a file of some kind into a problem document.
func invalidFile(kind string, err error) error {
	var faults *spec.Errors
	if !errors.As(err, &faults) {
		return err
	}
	n := len(faults.Problems) + faults.More
	p := &wire.Problem{
		Type: wire.ProblemInvalidSpec, Title: "The " + kind + " file is not valid", Status: http.StatusUnprocessableEntity,
		Detail: fmt.Sprintf("%s has %s", faults.File, count(n, "problem")),
		Hint:   "Nothing was changed. Correct the file and apply it again.",
	}
	for _, f := range faults.Problems {
		p.Errors = append(p.Errors, wire.ProblemError{
			File: faults.File, Line: f.Line, Column: f.Column, Location: f.Path, Message: f.What, Hint: f.Do,
		})
	}
	if faults.More > 0 {
		p.Errors = append(p.Errors, wire.ProblemError{Message: fmt.Sprintf("and %s not listed here", count(faults.More, "more problem"))})
	}
	return p
}

// storeProblem turns a failure of a write into what the caller can act on.
func storeProblem(app string, err error) error {
	switch {
	case errors.Is(err, store.ErrConflict):
		return conflict(fmt.Sprintf("app %q was changed by another request: %v", app, err))
	case errors.Is(err, store.ErrNameTaken):
		return nameTaken(err.Error())
	case errors.Is(err, store.ErrDomainTaken):
		return domainTaken(err.Error())
	case errors.Is(err, store.ErrServiceNotFound), errors.Is(err, store.ErrNotFound):
		return notFound(err.Error(), "`berth status` lists what there is.")
	}
	return err
}

func nameTaken(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemNameTaken, Title: "Name taken", Status: http.StatusConflict, Detail: detail,
		Hint: "App and service make one name, joined by a dash, and it must differ over all apps. Rename one of the two.",
	}
}

func domainTaken(detail string) *wire.Problem {
	return &wire.Problem{
		Type: wire.ProblemDomainTaken, Title: "Domain taken", Status: http.StatusConflict, Detail: detail,
		Hint: "A domain and path lead to one service. Take it out of the other app first, or use another.",
	}
}

// asProblem makes a problem document of any error. One that says nothing a
// caller could act on is logged and answered without its text.
func (s *Server) asProblem(ctx context.Context, err error) *wire.Problem {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p
	}
	if p := s.workloadProblem(ctx, err); p != nil {
		return p
	}
	if p := nodeProblem(err); p != nil {
		return p
	}
	if docker.IsUnavailable(err) {
		s.log.WarnContext(ctx, "the container engine does not answer", "error", err)
		return busy("the container engine does not answer", "Apps go on serving meanwhile. `berth doctor` says more.")
	}
	for _, unfit := range []error{secrets.ErrKeyLost, secrets.ErrKeyFile, secrets.ErrSealed, secrets.ErrTampered} {
		if errors.Is(err, unfit) {
			s.log.ErrorContext(ctx, "the secrets cannot be opened", "error", err)
			return busy("the secrets cannot be opened: "+unfit.Error(), "`berth doctor` says what to do. What runs keeps its values.")
		}
	}
	if errors.Is(err, store.ErrNoSpace) {
		s.log.ErrorContext(ctx, "the disk of the store is full", "error", err)
		return busy("the disk that holds the daemon's store is full; nothing was changed",
			"Apps go on serving meanwhile. Free some space and repeat the request; `berth doctor` names the folder.")
	}
	s.log.ErrorContext(ctx, "request failed", "error", err)
	return &wire.Problem{
		Type: wire.ProblemInternal, Title: "Internal error", Status: http.StatusInternalServerError,
		Detail: "the daemon could not answer; its log says why",
		Hint:   "Try again; if it stays, look at `berth doctor` and the log of berthd.",
	}
}

// refuse answers with the error, from a middleware.
func (s *Server) refuse(ctx huma.Context, err error) {
	p := s.asProblem(ctx.Context(), err)
	ctx.SetHeader("Content-Type", problemJSON)
	ctx.SetStatus(p.Status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(p)
}

// write answers with the problem, outside of any route.
func writeProblem(w http.ResponseWriter, p *wire.Problem) {
	w.Header().Set("Content-Type", problemJSON)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}

// unify is a transformer that turns the framework's own refusals, such as of a
// body that does not fit its schema, into our problem documents.
func unify(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := &wire.Problem{
		Type: wire.ProblemInvalidRequest, Title: "Invalid request", Status: m.Status, Detail: m.Detail,
		Hint: "GET /openapi.json describes every request.",
	}
	switch {
	case m.Status == http.StatusRequestEntityTooLarge:
		p.Type, p.Title, p.Hint = wire.ProblemTooLarge, "Request too large", "An app file or a workload file has at most 1 MiB, and so has a secret."
	case m.Status >= http.StatusInternalServerError:
		p.Type, p.Title, p.Hint = wire.ProblemInternal, "Internal error", "The log of berthd says more."
	}
	for _, e := range m.Errors {
		p.Errors = append(p.Errors, wire.ProblemError{Message: e.Message, Location: e.Location})
	}
	return p, nil
}

var problemType = reflect.TypeFor[wire.Problem]()

func schemaOf(api huma.API, t reflect.Type) *huma.Schema {
	return api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

// count writes "1 problem", "2 problems".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
