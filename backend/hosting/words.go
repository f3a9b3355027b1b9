package hosting

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/provider"
)

const (
	pullFailed = "image pull failed"
	unhealthy  = "container reported unhealthy"

	// maxSaid bounds what is kept of a provider's words, in bytes.
	maxSaid = 2048
)

// patience is how long the provider waits for containers to be ready. It ends before the
// operation does, so that there is a verdict of the provider to tell.
func patience(operation time.Duration) time.Duration { return operation - operation/20 }

// firstFailure is why a workload has failed, nil while none has.
func firstFailure(r *row, w *world) *failure {
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		st := w.status[r.Workloads[name].Instance]
		switch {
		case st == nil && r.Status == backend.ProvisionStatusReady:
			return &failure{backend.ReasonContainerExited, "container exited unexpectedly", "the provider does not know the workload of service " + name + " any more"}
		case st != nil && st.State == provider.StateFailed:
			f := explain(st, name, w.service(name))
			return &f
		}
	}
	return nil
}

// late is why an operation has not come to its end in time, as far as what is seen of its
// services tells: of the first one that is not ready, and on which the others may wait.
func late(r *row, w *world, what string) *failure {
	f := failure{Reason: backend.ReasonInternal, Message: what + " in time"}
	names := slices.Sorted(maps.Keys(r.Workloads))
	if w.stack != nil {
		names = order(r, w)
	}
	for _, name := range names {
		st := w.status[r.Workloads[name].Instance]
		switch {
		case st == nil && len(r.Old) > 0:
			f.Said = "a workload that is to go first is still there"
		case st == nil:
			f.Said = "the provider has no workload of service " + name
		case !st.Ready || st.TargetReleaseID != r.Workloads[name].Release:
			f = overdue(st, name, w.service(name), f)
		default:
			continue
		}
		break
	}
	f.Said = bounded(join(f.Said, w.trouble))
	return &f
}

// overdue is a failure to be ready in time, of a service that has not failed.
func overdue(st *provider.InstanceStatus, name string, s *manifest.Service, otherwise failure) failure {
	if st.State != provider.StateFailed && slices.Contains(reasons(st), provider.ReasonWaitingForReady) {
		return failure{backend.ReasonContainerExited, probed(name, s, st), said(st, name)}
	}
	f := explain(st, name, s)
	if f.Reason == backend.ReasonInternal && f.Message == internalError {
		f.Message = otherwise.Message
	}
	return f
}

const internalError = "internal error"

// explain says why a workload failed, in words of our own: the provider's may have
// paths, addresses or what the tenant's program printed. s is what the service was to be;
// nil is that nobody has it at hand.
func explain(st *provider.InstanceStatus, name string, s *manifest.Service) failure {
	f := failure{backend.ReasonInternal, internalError, said(st, name)}
	is := func(reason backend.Reason, message string) failure { return failure{reason, message, f.Said} }
	for _, reason := range reasons(st) {
		switch reason {
		case provider.ReasonImageUnavailable, provider.ReasonPulling:
			return is(backend.ReasonImagePullFailed, pullFailed)
		case provider.ReasonOutOfMemory:
			return is(backend.ReasonContainerExited, "container ran out of memory")
		case provider.ReasonStartFailed:
			return is(backend.ReasonContainerExited, "container could not start")
		case provider.ReasonExited, provider.ReasonCrashLoop:
			return is(backend.ReasonContainerExited, "container exited during startup")
		case provider.ReasonUnhealthy, provider.ReasonReadyTimeout:
			return is(backend.ReasonContainerExited, probed(name, s, st))
		case provider.ReasonVolumeInUse:
			f.Message = "a volume is still in use"
		case provider.ReasonNoCapacity:
			f.Message = "no capacity for the container"
		case provider.ReasonRolloutFailed:
			f = is(backend.ReasonContainerExited, "the new containers did not become ready")
			if s != nil && found(st, s.HealthCheck != nil) != "" {
				f.Message = probed(name, s, st)
			}
		}
	}
	return f
}

// reasons are those of an instance and of its services.
func reasons(st *provider.InstanceStatus) []provider.Reason {
	out := []provider.Reason{st.Reason}
	for _, name := range slices.Sorted(maps.Keys(st.Services)) {
		out = append(out, st.Services[name].Reason)
	}
	return out
}

// service is one of the manifest that is to be; nil is that it is not at hand.
func (w *world) service(name string) *manifest.Service {
	if w.stack == nil {
		return nil
	}
	return w.stack.Services[name]
}

// probed says what was asked of a service that is not healthy, and what came of it last.
// The command of a health check may have a secret in it, and is not told.
func probed(name string, s *manifest.Service, st *provider.InstanceStatus) string {
	if s == nil {
		return unhealthy
	}
	last := cmp.Or(found(st, s.HealthCheck != nil), "has not succeeded")
	if s.HealthCheck != nil {
		return fmt.Sprintf("%s: the health command of service %s %s", unhealthy, name, last)
	}
	if port, ok := s.AskedPort(); ok {
		return fmt.Sprintf("%s: port %s of service %s %s", unhealthy, port, name, last)
	}
	return fmt.Sprintf("%s: service %s did not stay up", unhealthy, name)
}

// findings are what probes find, by the words that providers have for it: of a command,
// and of a port.
var findings = []struct {
	command bool
	words   *regexp.Regexp
	means   string
}{
	{true, regexp.MustCompile(`[\]"] (?:exited with code|ended with) ([0-9]{1,3})\b`), "ended with exit code $1"},
	{true, regexp.MustCompile(`\bdid not end within\b|\bdeadline exceeded\b`), "did not end in time"},
	{true, regexp.MustCompile(`\bcould not be run\b|\bno such file\b`), "could not be run"},
	{false, regexp.MustCompile(`\brefused\b`), "refused the connection: nothing listens there"},
	{false, regexp.MustCompile(`\bdid not answer within\b|\bdeadline exceeded\b`), "did not answer in time"},
	{false, regexp.MustCompile(`\bclosed the connection\b`), "closed the connection"},
}

// found is what the last probe of a workload found, in words of our own; "" is that its
// provider does not say, or in words that nobody knows.
func found(st *provider.InstanceStatus, command bool) string {
	for _, text := range messages(st) {
		text, _, _ = strings.Cut(text, "its last lines:") // what follows is the tenant's
		for _, f := range findings {
			if at := f.words.FindStringSubmatchIndex(text); at != nil && f.command == command {
				return string(f.words.ExpandString(nil, f.means, text, at))
			}
		}
	}
	return ""
}

// messages are those of an instance, of its services and of their replicas, each once.
func messages(st *provider.InstanceStatus) []string {
	out := []string{st.Message}
	for _, name := range slices.Sorted(maps.Keys(st.Services)) {
		out = append(out, st.Services[name].Message)
		for _, replica := range st.Services[name].Replicas {
			out = append(out, replica.Message)
		}
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(out, func(text string) bool {
		had := seen[text]
		seen[text] = true
		return had
	})
}

// said is all that a provider says of a workload, in its own words.
func said(st *provider.InstanceStatus, name string) string {
	text := fmt.Sprintf("service %s is %s", name, st.State)
	if st.Reason != "" {
		text += " (" + string(st.Reason) + ")"
	}
	if all := messages(st); len(all) > 0 {
		text += ": " + strings.Join(all, "; ")
	}
	return bounded(text)
}

// bounded is as much of a text as is kept.
func bounded(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxSaid {
		return text
	}
	cut := maxSaid - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// hear remembers why the last effects of a lease failed, for who asks meanwhile and for
// when there is no more time.
func (h *Hosting) hear(lease string, failures []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(failures) == 0 {
		delete(h.troubles, lease)
		return
	}
	h.troubles[lease] = bounded(strings.ReplaceAll(errors.Join(failures...).Error(), "\n", "; "))
}

func (h *Hosting) trouble(lease string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.troubles[lease]
}
