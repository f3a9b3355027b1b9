package rollout

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// stash puts the content of config files into the vault, so that a record holds
// the key alone. It lives for one request.
type stash struct {
	vault    secrets.Vault
	newID    func(string) id.ID
	prefix   string
	tenant   string
	workload id.ID
	fresh    map[string]string // key by content, put by this request
}

func (m *Manager) stash(workload id.ID, tenant string) *stash {
	return &stash{
		vault: m.opts.Vault, newID: m.opts.NewID, prefix: m.configPrefix(workload), tenant: tenant, workload: workload,
		fresh: map[string]string{},
	}
}

// configPrefix begins the vault's keys that belong to a workload.
func (m *Manager) configPrefix(workload id.ID) string {
	return m.opts.Prefix + "/" + workload.String() + "/"
}

// files is a service's files without content. Content that a release of rec
// has already keeps its key, so that the same request makes the same release. The
// key says nothing about the content.
func (s *stash) files(ctx context.Context, rec *record, service string, files []provider.ConfigFile) ([]provider.ConfigFile, error) {
	if files == nil {
		return nil, nil
	}
	out := make([]provider.ConfigFile, len(files))
	for i, f := range files {
		out[i] = f
		if f.Content == "" {
			continue
		}
		key, err := s.keep(ctx, rec, service, f)
		if err != nil {
			return nil, fmt.Errorf("config file %q of service %q: %w", f.Name, service, err)
		}
		out[i].Content, out[i].Key = "", key
	}
	return out, nil
}

func (s *stash) keep(ctx context.Context, rec *record, service string, f provider.ConfigFile) (string, error) {
	if s.vault == nil {
		return "", fmt.Errorf("%w: there is no vault to keep its content in; give the key of one", provider.ErrInvalid)
	}
	content := secrets.NewSecret([]byte(f.Content))
	key, err := s.known(ctx, rec, service, f.Name, content)
	if err != nil || key != "" {
		return key, err
	}
	if key = s.fresh[f.Content]; key != "" {
		return key, nil
	}
	key = s.prefix + s.newID(id.KindItem).String()
	ref, err := secrets.NewRef(s.tenant, key)
	if err != nil {
		return "", fmt.Errorf("%w: %w", provider.ErrInvalid, err)
	}
	if _, err := s.vault.Put(ctx, ref, content); err != nil {
		return "", err
	}
	s.fresh[f.Content] = key
	return key, nil
}

// known finds the content in what rec has under the same service and name.
func (s *stash) known(ctx context.Context, rec *record, service, name string, content secrets.Secret) (string, error) {
	if rec == nil {
		return "", nil
	}
	for key := range rec.configKeys(s.prefix, service, name) {
		held, _, err := s.vault.Get(ctx, secrets.Ref{Tenant: s.tenant, Key: key}, 0)
		if errors.Is(err, secrets.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if held.Equal(content) {
			return key, nil
		}
	}
	return "", nil
}

// drop deletes what this request put and no record came to hold.
func (s *stash) drop(ctx context.Context, rec *record, log *slog.Logger) {
	if s.vault == nil || len(s.fresh) == 0 {
		return
	}
	held := map[string]bool{}
	if rec != nil {
		held = rec.configKeys(s.prefix, "", "")
	}
	for _, key := range s.fresh {
		if !held[key] {
			remove(ctx, s.vault, secrets.Ref{Tenant: s.tenant, Key: key}, log)
		}
	}
}

// configKeys are the keys of ours that a record holds, of one service and file
// where they are named.
func (r *record) configKeys(prefix, service, name string) map[string]bool {
	keys := map[string]bool{}
	add := func(owner string, files []provider.ConfigFile) {
		for _, f := range files {
			if strings.HasPrefix(f.Key, prefix) && (service == "" || owner == service && f.Name == name) {
				keys[f.Key] = true
			}
		}
	}
	for _, s := range r.Provision.Services {
		add(s.Name, s.ConfigFiles)
	}
	for _, rel := range r.Releases {
		for _, s := range rel.Services {
			add(s.Name, s.ConfigFiles)
		}
	}
	return keys
}

// forget deletes the keys that a record held and does not hold any more. What
// fails stays in the vault until the workload is removed.
func (m *Manager) forget(ctx context.Context, before map[string]bool, rec *record) {
	after := rec.configKeys(m.configPrefix(rec.Workload), "", "")
	for key := range before {
		if !after[key] {
			remove(ctx, m.opts.Vault, secrets.Ref{Tenant: rec.Provision.TenantID, Key: key}, m.opts.Logger)
		}
	}
}

// forgetAll deletes every key of a workload.
func (m *Manager) forgetAll(ctx context.Context, rec *record) error {
	if m.opts.Vault == nil || rec.Provision.TenantID == "" {
		return nil
	}
	all, err := m.opts.Vault.List(ctx, rec.Provision.TenantID)
	if err != nil {
		return err
	}
	prefix := m.configPrefix(rec.Workload)
	for _, entry := range all {
		if strings.HasPrefix(entry.Key, prefix) {
			if err := m.opts.Vault.Delete(ctx, secrets.Ref{Tenant: rec.Provision.TenantID, Key: entry.Key}); err != nil {
				return err
			}
		}
	}
	return nil
}

func remove(ctx context.Context, vault secrets.Vault, ref secrets.Ref, log *slog.Logger) {
	if err := vault.Delete(ctx, ref); err != nil {
		log.LogAttrs(ctx, slog.LevelWarn, "config file stays in the vault", slog.String("key", ref.Key), slog.String("error", err.Error()))
	}
}
