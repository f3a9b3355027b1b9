package dockerprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// fileName is a config file among those of a workload.
func fileName(service, file string) string { return service + "/" + file }

// fingerprint is a hash over a request that holds no content of a file.
func fingerprint(request any) (string, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("fingerprint of the request: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// anotherContent stands where a file's content is not the one that was accepted.
const anotherContent = "another content"

// contents are the config files of a request, which is changed through them.
type contents struct {
	d        *Driver
	tenant   string
	workload id.ID
}

// compare puts references in the place of contents that were accepted before,
// so that the request has the fingerprint it had then.
func (c contents) compare(ctx context.Context, service string, files []provider.ConfigFile, accepted records.Accepted) error {
	for i := range files {
		f := &files[i]
		if f.Key != "" {
			continue
		}
		content := secrets.NewSecretString(f.Content)
		f.Content, f.Key = "", anotherContent
		version, ok := accepted.Contents[fileName(service, f.Name)]
		if !ok || c.d.opts.Vault == nil {
			continue
		}
		key := translate.FileKey(c.workload, service, f.Name)
		value, _, err := c.d.opts.Vault.Get(ctx, secrets.Ref{Tenant: c.tenant, Key: key}, secrets.Version(version))
		switch {
		case errors.Is(err, secrets.ErrNotFound):
		case err != nil:
			return fmt.Errorf("read config file %s: %w", f.Name, err)
		case value.Equal(content):
			f.Key, f.Version = key, secrets.Version(version)
		}
	}
	return nil
}

// store puts contents into the vault and references in their place, and notes
// the versions.
func (c contents) store(ctx context.Context, service string, files []provider.ConfigFile, accepted *records.Accepted) error {
	for i := range files {
		f := &files[i]
		if f.Key != "" {
			continue
		}
		key := translate.FileKey(c.workload, service, f.Name)
		version, err := c.d.opts.Vault.Put(ctx, secrets.Ref{Tenant: c.tenant, Key: key}, secrets.NewSecretString(f.Content))
		if err != nil {
			return fmt.Errorf("keep config file %s of %s in the vault: %w", f.Name, service, err)
		}
		f.Content, f.Key, f.Version = "", key, version
		if accepted.Contents == nil {
			accepted.Contents = map[string]int64{}
		}
		accepted.Contents[fileName(service, f.Name)] = int64(version)
	}
	return nil
}

// versions are the newest ones of the secrets that services name without one.
// What the vault does not have is not among them: the planner says what that
// means.
func (c contents) versions(ctx context.Context, services []provider.ServiceSpec) (map[string]map[string]secrets.Version, error) {
	out := map[string]map[string]secrets.Version{}
	for _, s := range services {
		keys := map[string]bool{}
		for _, ref := range s.Secrets {
			keys[ref.Key] = keys[ref.Key] || ref.Version == 0
		}
		for _, f := range s.ConfigFiles {
			keys[f.Key] = keys[f.Key] || f.Version == 0
		}
		for key, open := range keys {
			if !open {
				continue
			}
			v, err := c.newest(ctx, key)
			if err != nil {
				return nil, err
			}
			if v == 0 {
				continue
			}
			if out[s.Name] == nil {
				out[s.Name] = map[string]secrets.Version{}
			}
			out[s.Name][key] = v
		}
	}
	return out, nil
}

// newest is the newest version of a secret, 0 when there is none.
func (c contents) newest(ctx context.Context, key string) (secrets.Version, error) {
	_, v, err := c.d.opts.Vault.Get(ctx, secrets.Ref{Tenant: c.tenant, Key: key}, 0)
	switch {
	case errors.Is(err, secrets.ErrNotFound):
		return 0, nil
	case errors.Is(err, secrets.ErrInvalidRef):
		return 0, fmt.Errorf("%w: secret %s: %w", provider.ErrInvalid, key, err)
	case err != nil:
		return 0, fmt.Errorf("look for secret %s: %w", key, err)
	}
	return v, nil
}
