package provider

import (
	"strings"

	"github.com/berth-cloud/berth/secrets"
)

// SecretRef names a secret of the tenant. The value is read from the vault when a
// container is created, and is in no spec, record, status, log or error.
type SecretRef struct {
	// Key is the secret's key in the vault, within the tenant.
	Key string `db:"key" json:"key"`

	// Type says how the value reaches the container. Empty is
	// secrets.SecretEnv.
	Type secrets.SecretType `db:"type" json:"type"`

	// EnvKey is the variable of a secret of type env. Empty is the key in upper
	// case, as EnvName forms it.
	EnvKey string `db:"env_key" json:"env_key,omitempty"`

	// Path is the file of a secret of type file, and the directory of one of type
	// tls, which holds tls.crt and tls.key. Empty is SecretsDir and the key.
	Path string `db:"path" json:"path,omitempty"`

	// Optional lets a container start when the vault has no such secret.
	Optional bool `db:"optional" json:"optional,omitempty"`

	// Version is the version of the value; zero is the newest when the release is
	// made. The record of a release has it filled in, so that a rollback restores the
	// value too.
	Version secrets.Version `db:"version" json:"version,omitempty"`
}

// SecretsDir is where files of secrets are without a path of their own.
const SecretsDir = "/run/secrets"

// EffectiveType is the type with the default filled in.
func (r SecretRef) EffectiveType() secrets.SecretType {
	if r.Type == "" {
		return secrets.SecretEnv
	}
	return r.Type
}

// EnvName is the variable of a secret of type env.
func (r SecretRef) EnvName() string {
	if r.EnvKey != "" {
		return r.EnvKey
	}
	return EnvName(r.Key)
}

// MountPath is where a secret of type file or tls appears.
func (r SecretRef) MountPath() string {
	if r.Path != "" {
		return r.Path
	}
	return SecretsDir + "/" + r.Key
}

// EnvName makes the name of an environment variable of a key: upper case, with
// an underscore for every character that is no letter of ASCII and no digit, and one before a
// leading digit.
func EnvName(key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}, key)
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// SecretBinding is a variable of a template that is a secret. The provider makes a
// secret of the orchestrator of it when it applies the source; here is only where the
// value is.
type SecretBinding struct {
	// VarName is the variable of the template.
	VarName string `json:"var_name"`

	// EnvKey is the variable that the workload sees. Whoever makes a binding
	// fills it, with EnvName(VarName) when nothing else is said.
	EnvKey string `json:"env_key"`

	Ref SecretRef `json:"ref"`
}

// ConfigFile is a file that is there before the container starts. Its content is
// kept like a secret: it is in no status, log, error, event or label.
type ConfigFile struct {
	// Name is unique within the service.
	Name string `db:"name" json:"name"`

	// Path is absolute and clean, and not directly in "/".
	Path string `db:"path" json:"path"`

	// Format is "json", "yaml", "env" or "text", for whoever shows or edits the
	// file; empty is "text".
	Format string `db:"format" json:"format"`

	// Content is the file, at most MaxConfigFileSize bytes. A provider that
	// records the request puts it in the tenant's vault and records the key alone.
	Content string `db:"content" json:"content"`

	// Key is the vault's key of the content, in place of Content.
	Key string `db:"key" json:"key,omitempty"`

	// Version is the version of the value under Key, as in SecretRef.
	Version secrets.Version `db:"version" json:"version,omitempty"`
}
