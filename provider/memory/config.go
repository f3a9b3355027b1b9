package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// configKey is where the content of the n-th config file of a service is.
func configKey(instance, release id.ID, service string, n int) string {
	return fmt.Sprintf("%s%s/%s/%d", configPrefix(instance), release, service, n)
}

func configPrefix(instance id.ID) string { return "berth-memory/" + instance.String() + "/" }

// stash takes the contents out of config files. What it returns are the files with
// keys, and the contents by key.
func stash(instance, release id.ID, service string, files []provider.ConfigFile) ([]provider.ConfigFile, map[string]string) {
	contents := map[string]string{}
	var out []provider.ConfigFile
	if files != nil {
		out = []provider.ConfigFile{}
	}
	for n, f := range files {
		if f.Key == "" {
			f.Key = configKey(instance, release, service, n)
			contents[f.Key], f.Content = f.Content, ""
		}
		out = append(out, f)
	}
	return out, contents
}

// keep puts contents into the vault.
func (p *Provider) keep(ctx context.Context, tenant string, contents map[string]string) error {
	for key, content := range contents {
		err := p.wire.do(ctx, "keep a config file", func() error {
			_, err := p.vault.Put(ctx, secrets.Ref{Tenant: tenant, Key: key}, secrets.NewSecretString(content))
			return err
		})
		if err != nil {
			return fmt.Errorf("keep config file %s: %w", key, err)
		}
	}
	return nil
}

// sameContents reports whether the vault holds what contents say. What it does not
// hold yet is what they say.
func (p *Provider) sameContents(ctx context.Context, tenant string, contents map[string]string) (bool, error) {
	for key, content := range contents {
		have, _, err := p.vault.Get(ctx, secrets.Ref{Tenant: tenant, Key: key}, 0)
		if errors.Is(err, secrets.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read config file %s: %w", key, err)
		}
		if !have.Equal(secrets.NewSecretString(content)) {
			return false, nil
		}
	}
	return true, nil
}

// forget removes what keep put there for an instance.
func (p *Provider) forget(ctx context.Context, tenant string, instance id.ID) error {
	all, err := p.vault.List(ctx, tenant)
	if err != nil {
		return fmt.Errorf("list config files: %w", err)
	}
	for _, m := range all {
		if !strings.HasPrefix(m.Key, configPrefix(instance)) {
			continue
		}
		err := p.wire.do(ctx, "remove a config file", func() error {
			return p.vault.Delete(ctx, secrets.Ref{Tenant: tenant, Key: m.Key})
		})
		if err != nil {
			return fmt.Errorf("remove config file %s: %w", m.Key, err)
		}
	}
	return nil
}

// errNotKept means that a call was cut off between its record and its config
// files. Its repetition brings them.
var errNotKept = fmt.Errorf("%w: a config file is not kept yet", provider.ErrUnavailable)

// pin finds the versions of every value that a release needs. A value that is missing
// is a failure.
func (p *Provider) pin(ctx context.Context, rec *record, rel *release) error {
	if rel.Pinned {
		return nil
	}
	pins := map[string]secrets.Version{}
	for _, s := range rel.Services {
		for _, ref := range s.Secrets {
			_, version, err := p.vault.Get(ctx, secrets.Ref{Tenant: rec.Request.TenantID, Key: ref.Key}, 0)
			switch {
			case errors.Is(err, secrets.ErrNotFound) && ref.Optional:
			case errors.Is(err, secrets.ErrNotFound):
				return &failure{s.Name, provider.ReasonSecretMissing, fmt.Sprintf("secret %s has no value", ref.Key)}
			case err != nil:
				return fmt.Errorf("read secret %s: %w", ref.Key, err)
			default:
				pins[ref.Key] = version
			}
		}
		for _, f := range s.ConfigFiles {
			_, version, err := p.vault.Get(ctx, secrets.Ref{Tenant: rec.Request.TenantID, Key: f.Key}, 0)
			switch {
			case errors.Is(err, secrets.ErrNotFound) && strings.HasPrefix(f.Key, configPrefix(rec.Request.InstanceID)):
				return errNotKept
			case errors.Is(err, secrets.ErrNotFound):
				return &failure{s.Name, provider.ReasonSecretMissing, fmt.Sprintf("config file %s: %s has no value", f.Name, f.Key)}
			case err != nil:
				return fmt.Errorf("read config file %s: %w", f.Name, err)
			default:
				pins[f.Key] = version
			}
		}
	}
	rel.Pins, rel.Pinned = pins, true
	return p.save(ctx, rec)
}
