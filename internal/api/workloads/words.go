package workloads

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// sentinels begin, or end, the texts of errors of package provider. Who reads an
// answer is told by its type.
var sentinels = []error{
	provider.ErrNotFound, provider.ErrConflict, provider.ErrBusy, provider.ErrUnsupportedSource, provider.ErrNotSupported, provider.ErrInvalid,
	provider.ErrNoRecord, provider.ErrUnavailable, provider.ErrNotReady, provider.ErrProviderNotFound,
}

// family begins their texts.
const family = "provider: "

// plainText is the text of an error without what tells programs its kind.
func plainText(text string) string {
	for again := true; again; {
		again = false
		for _, kind := range sentinels {
			if rest, ok := strings.CutPrefix(text, kind.Error()+": "); ok {
				text, again = rest, true
			}
		}
	}
	for _, kind := range sentinels {
		text = strings.ReplaceAll(text, kind.Error(), strings.TrimPrefix(kind.Error(), family))
	}
	return text
}

// labels are what people call what ids stand for.
type labels map[string]string

// labelsOf are those of a workload and of what its rollouts name.
func labelsOf(r row, rollouts ...*rollout.Rollout) labels {
	out := labels{r.ID.String(): "workload " + r.Name}
	for _, ro := range rollouts {
		if ro == nil {
			continue
		}
		out[ro.ID.String()] = fmt.Sprintf("rollout %d", ro.Number)
		out[ro.Release.String()] = "release " + version(ro.ReleaseVersion)
		out[ro.Ref.String()] = "release " + version(ro.ReleaseVersion)
	}
	delete(out, id.Nil.String())
	return out
}

// plain is a text of an error with names in the place of ids. An id that is a part
// of another name, such as that of a container, stays.
func (l labels) plain(text string) string {
	text = plainText(text)
	for token, label := range l {
		text = l.replace(text, token, label)
	}
	return text
}

func (labels) replace(text, token, label string) string {
	kind, _, _ := strings.Cut(label, " ")
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, token)
		if !found {
			return b.String() + text
		}
		if partOf(before, len(before)-1) || partOf(after, 0) {
			b.WriteString(before + token)
		} else {
			for _, word := range []string{kind, "instance", "workload"} {
				before = strings.TrimSuffix(before, word+" ")
			}
			b.WriteString(before + label)
		}
		text = after
	}
}

// partOf reports whether the byte at i goes on with a name.
func partOf(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '/'
}

// worded is an error in words for people. For programs it is still what it was.
type worded struct {
	text    string
	problem *wire.Problem // nil: the API makes one by the kind of the error
	cause   error
}

func (e *worded) Error() string { return e.text }

func (e *worded) Unwrap() []error {
	if e.problem == nil {
		return []error{e.cause}
	}
	return []error{e.problem, e.cause}
}

// said is err for the caller of the API, about the workload that the row is of.
func (s *Service) said(ctx context.Context, r row, err error) error {
	var p *wire.Problem
	var w *worded
	if err == nil || errors.As(err, &p) || errors.As(err, &w) {
		return err
	}
	var all []*rollout.Rollout
	// Without the list the ids of rollouts stay.
	if list, _, listErr := s.rollouts.Rollouts(ctx, r.ID, rollout.Page{Limit: rollout.MaxPage}); listErr == nil {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	text := labelsOf(r, all...).plain(err.Error())
	switch {
	case errors.Is(err, provider.ErrProviderNotFound):
		text = fmt.Sprintf("workload %s is on the provider %q, which there is not: %s", r.Name, r.Provider, text)
	case errors.Is(err, provider.ErrNotFound):
		return missing(text, fmt.Sprintf("`berth workload status %s` says what there is of it.", r.Name))
	}
	return &worded{text: text, cause: err}
}

// saidOf is said for a name that may mean no workload.
func (s *Service) saidOf(ctx context.Context, name string, err error) error {
	if err == nil {
		return nil
	}
	r, rowErr := s.row(ctx, name)
	if rowErr != nil {
		return &worded{text: plainText(err.Error()), cause: err}
	}
	return s.said(ctx, r, err)
}

// missing is a provider.ErrNotFound.
func missing(text, hint string) error {
	p := &wire.Problem{Type: wire.ProblemNotFound, Title: "Not found", Status: http.StatusNotFound, Detail: text, Hint: hint}
	return &worded{text: text, problem: p, cause: provider.ErrNotFound}
}

// noSuch is the error for a name without a workload.
func noSuch(name string) error {
	return missing(fmt.Sprintf("there is no workload %q", clip(name)), "`berth workload list` lists the workloads there are.")
}

// noService is the error for a service that a workload does not have.
func noService(r row, service string) error {
	return missing(fmt.Sprintf("workload %s has no service %q", r.Name, clip(service)), fmt.Sprintf("`berth workload status %s` lists its services.", r.Name))
}

// noRelease is the error for a release that a workload does not have.
func noRelease(r row, text string) error {
	return missing(text, fmt.Sprintf("`berth workload releases %s` lists those that are kept.", r.Name))
}

// noProvider words that a name means no provider.
func noProvider(err error) error {
	if !errors.Is(err, provider.ErrProviderNotFound) {
		return err
	}
	return &worded{text: "there is no such provider: " + plainText(err.Error()), cause: err}
}

// lacksSecret reports whether the text of a failure has the reason of a secret without
// a value.
func lacksSecret(text string) bool {
	return strings.Contains(text, "("+string(provider.ReasonSecretMissing)+"): ")
}

// trouble is the text of what failed about a workload. Of a secret without a value it
// says which and what to do: release is the one that was to run, id.Nil for none.
func (s *Service) trouble(ctx context.Context, r row, text string, release id.ID, l labels) string {
	text = l.plain(text)
	if lacksSecret(text) {
		_, text, _ = strings.Cut(text, "): ")
		return s.secretText(ctx, r, text, release)
	}
	if rest, ok := strings.CutPrefix(text, string(provider.StateFailed)+" ("); ok {
		return strings.Replace(rest, "): ", ": ", 1)
	}
	return text
}
