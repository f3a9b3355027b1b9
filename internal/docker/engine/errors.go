package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// failure is an engine's error with what was tried and which of the contract's
// sentinels it is, if any.
type failure struct {
	what     string // "start container web"
	sentinel error  // nil: none fits
	cause    error
	hint     string
}

func (f *failure) Error() string {
	var b strings.Builder
	b.WriteString(f.what)
	b.WriteString(": ")
	if f.sentinel != nil {
		b.WriteString(f.sentinel.Error())
		b.WriteString(": ")
	}
	b.WriteString(f.told())
	if f.hint != "" {
		b.WriteString("; ")
		b.WriteString(f.hint)
	}
	return b.String()
}

// told is what the engine said, or why nothing was heard of it: of that the
// client's own words say no more than ours.
func (f *failure) told() string {
	var netErr *net.OpError
	if f.sentinel == docker.ErrUnavailable && errors.As(f.cause, &netErr) { //nolint:errorlint // it is the bare sentinel
		return netErr.Error()
	}
	return strings.TrimPrefix(f.cause.Error(), "Error response from daemon: ")
}

func (f *failure) Unwrap() []error {
	if f.sentinel == nil {
		return []error{f.cause}
	}
	return []error{f.sentinel, f.cause}
}

// fail wraps the failure of a call that should have answered at once. A
// deadline that passed counts as an engine that did not answer.
func (c *Client) fail(what string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{what: what, sentinel: docker.ErrUnavailable, cause: err, hint: "the engine at " + c.host + " did not answer in time"}
	}
	return c.failSlow(what, err)
}

// failSlow wraps the failure of a call that may rightly take long, where a
// passed deadline says nothing about the engine.
func (c *Client) failSlow(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &failure{what: what, cause: err}
	}
	if unreachable(err) {
		return &failure{what: what, sentinel: docker.ErrUnavailable, cause: err, hint: "is the engine at " + c.host + " running?"}
	}
	return &failure{what: what, sentinel: classify(err), cause: err}
}

// failStream wraps the failure of a stream that was opened with this context.
func (c *Client) failStream(ctx context.Context, what string, err error) error {
	if context.Cause(ctx) == errNotOpened { //nolint:errorlint // the cause is set as it is
		return &failure{what: what, sentinel: docker.ErrUnavailable, cause: errNotOpened, hint: "is the engine at " + c.host + " well?"}
	}
	return c.failSlow(what, err)
}

// unreachable reports that no answer came, or that it broke off. It looks at
// types only: the engine's own words may quote a connection that failed
// elsewhere, between it and a registry.
func unreachable(err error) bool {
	var netErr *net.OpError
	return client.IsErrConnectionFailed(err) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &netErr)
}

type saying struct {
	words    string
	sentinel error
}

// toldByEngine maps words of the engine to sentinels. The words are matched in
// lower case and in order: more telling ones first. They are needed where one
// HTTP status stands for several failures.
var toldByEngine = []saying{
	// Ports before addresses: a port taken by another process also says
	// "address already in use".
	{"port is already allocated", docker.ErrPortInUse},
	{"bind: address already in use", docker.ErrPortInUse},
	{"failed to bind host port", docker.ErrPortInUse},
	{"failed to bind port", docker.ErrPortInUse},
	{"address already in use", docker.ErrAddressInUse},
	{"pool overlaps", docker.ErrSubnetOverlap},
	{"networks have overlapping", docker.ErrSubnetOverlap},
	{"networks have same bridge name", docker.ErrSubnetOverlap},
	{"no such image", docker.ErrImageNotFound},
	// A container that is on its way out is as good as gone: there is nothing
	// left to read from it or to do with it.
	{"dead or marked for removal", docker.ErrNotFound},
	{"is not running", docker.ErrNotRunning},
	{"is paused, unpause", docker.ErrNotRunning},
	{"is restarting, wait until", docker.ErrNotRunning},
	{"is marked read-only", docker.ErrInvalid},
	{"has active endpoints", docker.ErrConflict},
	{"volume is in use", docker.ErrConflict},
	{"already exists", docker.ErrConflict},
	// An engine exchanged for an older one under a client that had settled on
	// a newer API.
	{"is too new. maximum supported api version", docker.ErrUnavailable},
	{"does not belong to any of this network's subnets", docker.ErrInvalid},
	{"no configured subnet", docker.ErrInvalid},
	{"invalid reference format", docker.ErrInvalid},
}

// toldByRegistry does the same for a registry's words, which an engine passes
// on during a pull.
var toldByRegistry = []saying{
	// A registry that hides private repositories answers an unknown one in
	// the same words, and a mistyped name is the likelier cause.
	{"pull access denied", docker.ErrImageNotFound},
	{"manifest unknown", docker.ErrImageNotFound},
	{"name unknown", docker.ErrImageNotFound},
	{"no matching manifest", docker.ErrImageNotFound},
	{"no basic auth credentials", docker.ErrUnauthorized},
	{"unauthorized", docker.ErrUnauthorized},
	{"authentication required", docker.ErrUnauthorized},
	{"incorrect username or password", docker.ErrUnauthorized},
	{"denied: ", docker.ErrUnauthorized},
	{"403 forbidden", docker.ErrUnauthorized},
}

// classifyPull finds the sentinel for a pull's error. What is not found is the
// image: a pull names nothing else.
func classifyPull(err error) error {
	sentinel := match(toldByRegistry, err)
	if sentinel == nil {
		sentinel = classify(err)
	}
	switch {
	case sentinel == docker.ErrNotFound: //nolint:errorlint // it is the bare sentinel
		return docker.ErrImageNotFound
	case errdefs.IsUnavailable(err) && sentinel == docker.ErrUnavailable: //nolint:errorlint // likewise
		return nil // the registry is, says the engine
	}
	return sentinel
}

func match(sayings []saying, err error) error {
	text := strings.ToLower(err.Error())
	for _, s := range sayings {
		if strings.Contains(text, s.words) {
			return s.sentinel
		}
	}
	return nil
}

// classify finds the sentinel for an error that an engine answered with, nil
// when none fits.
func classify(err error) error {
	if sentinel := match(toldByEngine, err); sentinel != nil {
		return sentinel
	}
	switch {
	case errdefs.IsNotFound(err):
		return docker.ErrNotFound
	case errdefs.IsConflict(err), errdefs.IsAlreadyExists(err):
		return docker.ErrConflict
	case errdefs.IsInvalidArgument(err):
		return docker.ErrInvalid
	case errdefs.IsUnauthorized(err):
		return docker.ErrUnauthorized
	case errdefs.IsUnavailable(err):
		return docker.ErrUnavailable
	}
	return nil
}
