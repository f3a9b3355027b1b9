package workloads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// secretText says which secrets have no value, and what to run. The provider's text
// names their keys in words of its own; a text that names none stays as it is.
func (s *Service) secretText(ctx context.Context, r row, text string, release id.ID) string {
	rel, err := s.rollouts.Release(ctx, r.ID, release)
	if err != nil {
		return text
	}
	keys := namedKeys(text, rel.Services)
	if len(keys) == 0 {
		return text
	}
	var run []string
	for _, key := range keys {
		if app, name, ok := strings.Cut(key, "/"); ok && !strings.Contains(name, "/") {
			run = append(run, fmt.Sprintf("`berth secret set %s %s`", app, name))
		}
	}
	what := "secret " + keys[0] + " has no value"
	if len(keys) > 1 {
		what = "secrets " + strings.Join(keys, ", ") + " have no value"
	}
	if len(run) == 0 {
		return what
	}
	return what + "; run " + strings.Join(run, " and ") + ", then apply the file again"
}

// namedKeys are the keys of the vault that services name and a text does, too.
func namedKeys(text string, services []provider.ServiceSnapshot) []string {
	var out []string
	add := func(key string) {
		if key != "" && !slices.Contains(out, key) && namesKey(text, key) {
			out = append(out, key)
		}
	}
	for _, svc := range services {
		for _, ref := range svc.Secrets {
			add(ref.Key)
		}
		for _, f := range svc.ConfigFiles {
			add(f.Key)
		}
	}
	slices.Sort(out)
	return out
}

// namesKey reports whether a text has a key that is no part of a longer one.
func namesKey(text, key string) bool {
	for before := ""; ; {
		head, tail, found := strings.Cut(text, key)
		if !found {
			return false
		}
		before += head
		if !partOf(before, len(before)-1) && !partOf(tail, 0) {
			return true
		}
		before, text = before+key, tail
	}
}
