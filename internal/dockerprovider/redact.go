package dockerprovider

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/secrets"
)

const (
	// minRedacted is the length from which a value is looked for: a shorter one
	// would take every text apart.
	minRedacted = 4
	// minRedactedLine is the length from which one line of a value is looked for.
	minRedactedLine = 8
	withheld        = "details are withheld: the vault cannot be read, and they might hold a secret"
)

// redactor takes the values of a workload's secrets and config files out of
// texts. They come from containers: programs print what they were given.
func (d *Driver) redactor(w *records.Workload) func(ctx context.Context, text string) string {
	return func(ctx context.Context, text string) string {
		if text == "" || w == nil || d.opts.Vault == nil {
			return text
		}
		values, err := d.values(ctx, w)
		if err != nil {
			return withheld
		}
		for _, v := range values {
			text = strings.ReplaceAll(text, v, secrets.Redacted)
		}
		return text
	}
}

// values are the texts to look for, the longest first.
func (d *Driver) values(ctx context.Context, w *records.Workload) ([]string, error) {
	type version struct {
		key string
		v   secrets.Version
	}
	seen := map[version]bool{}
	var out []string
	add := func(key string, v secrets.Version) error {
		if seen[version{key, v}] {
			return nil
		}
		seen[version{key, v}] = true
		value, _, err := d.opts.Vault.Get(ctx, secrets.Ref{Tenant: w.Tenant, Key: key}, v)
		if err == nil {
			out = append(out, forms(value.RevealString())...)
		}
		return ignoreMissing(err)
	}
	for _, rev := range w.Revisions {
		for _, s := range rev.Resolved() {
			for _, ref := range s.Secrets {
				if err := add(ref.Key, ref.Version); err != nil {
					return nil, err
				}
			}
			for _, f := range s.ConfigFiles {
				if err := add(f.Key, f.Version); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out, nil
}

// forms are the ways in which a value may stand in a text: whole, by line, and
// as JSON has either.
func forms(value string) []string {
	var out []string
	add := func(text string, least int) {
		if text = strings.TrimSpace(text); len(text) < least {
			return
		}
		out = append(out, text)
		if quoted, err := json.Marshal(text); err == nil {
			if escaped := string(quoted[1 : len(quoted)-1]); escaped != text {
				out = append(out, escaped)
			}
		}
	}
	add(value, minRedacted)
	if strings.Contains(value, "\n") {
		for line := range strings.SplitSeq(value, "\n") {
			add(line, minRedactedLine)
		}
	}
	return out
}

// ignoreMissing forgives a value that is no longer in the vault.
func ignoreMissing(err error) error {
	if errors.Is(err, secrets.ErrNotFound) || errors.Is(err, secrets.ErrInvalidRef) {
		return nil
	}
	return err
}
