package provider

import (
	"path"
	"strings"

	"github.com/berth-cloud/berth/secrets"
)

const maxPath = 1024

// cleanAbsolute reports whether name is absolute, without dots and doubled
// slashes, and not "/".
func cleanAbsolute(name string) bool {
	return len(name) > 1 && len(name) <= maxPath && path.IsAbs(name) && path.Clean(name) == name &&
		printable(name) && !strings.ContainsRune(name, ':')
}

// mounts are the paths that one service fills: directories by volumes and
// tmpfs, files by secrets and configs.
type mounts struct {
	dirs, files map[string]string // by path: where it was asked for
}

// kernelPaths are what the kernel fills in every container; a runtime refuses
// mounts there, or they hide what programs rely on.
var kernelPaths = []string{"/proc", "/sys", "/dev"}

func (m *mounts) allowed(p *problems, where, name string) bool {
	if !cleanAbsolute(name) {
		p.add(where, "%q is not an absolute, clean path below /", clip(name))
		return false
	}
	for _, k := range kernelPaths {
		if (name == k || strings.HasPrefix(name, k+"/")) && name != "/dev/shm" {
			p.add(where, "%q lies in %s, which is the kernel's", clip(name), k)
			return false
		}
	}
	return true
}

func (m *mounts) dir(p *problems, where, name string) {
	if !m.allowed(p, where, name) {
		return
	}
	if first := m.taken(name); first != "" {
		p.add(where, "%q is taken by %s", clip(name), first)
		return
	}
	m.dirs[name] = where
}

func (m *mounts) file(p *problems, where, name string) {
	if !m.allowed(p, where, name) {
		return
	}
	if first := m.taken(name); first != "" {
		p.add(where, "%q is taken by %s", clip(name), first)
		return
	}
	m.files[name] = where
	parent := path.Dir(name)
	if parent == "/" {
		p.add(where, "%q lies directly in /; put it into a directory", clip(name))
	}
}

func (m *mounts) taken(name string) string {
	if first := m.dirs[name]; first != "" {
		return first
	}
	return m.files[name]
}

// crossings finds files in a directory that is a mount itself, and files that other
// paths take for a directory.
func (m *mounts) crossings(p *problems) {
	for _, name := range sortedKeys(m.files) {
		if first := m.dirs[path.Dir(name)]; first != "" {
			p.add(m.files[name], "%q lies directly in the mount of %s; put it into a directory of its own", clip(name), first)
		}
	}
	for _, paths := range []map[string]string{m.dirs, m.files} {
		for _, name := range sortedKeys(paths) {
			for above := path.Dir(name); above != "/"; above = path.Dir(above) {
				if first := m.files[above]; first != "" {
					p.add(paths[name], "%q lies below %q, which is the file of %s", clip(name), clip(above), first)
				}
			}
		}
	}
}

// validateMounts is about every path that a service has filled.
func validateMounts(p *problems, where string, s ServiceSpec) {
	m := mounts{dirs: map[string]string{}, files: map[string]string{}}
	names := map[string]bool{}
	for i, v := range s.Volumes {
		at := at(where+".volumes", i)
		validateLabelName(p, at+".name", v.Name)
		if names[v.Name] {
			p.add(at+".name", "%q is mounted twice by the service", clip(v.Name))
		}
		names[v.Name] = true
		m.dir(p, at+".mount_path", v.MountPath)
		if v.SizeMB < 0 {
			p.add(at+".size_mb", "%d is negative", v.SizeMB)
		}
		if len(v.Type) > maxLabelKey || !printable(v.Type) {
			p.add(at+".type", "is no name of a class")
		}
		validateVolumeIDs(p, at+".ids", v.IDs)
	}
	for i, tmp := range s.Tmpfs {
		at := at(where+".tmpfs", i)
		m.dir(p, at+".mount_path", tmp.MountPath)
		if tmp.SizeMB < 0 {
			p.add(at+".size_mb", "%d is negative", tmp.SizeMB)
		}
	}
	validateSecrets(p, where, s, &m)
	validateConfigFiles(p, where, s, &m)
	m.crossings(p)
}

func validateSecrets(p *problems, where string, s ServiceSpec, m *mounts) {
	for i, ref := range s.Secrets {
		at := at(where+".secrets", i)
		validateSecretKey(p, at+".key", ref.Key)
		if ref.Version < 0 {
			p.add(at+".version", "%d is negative", ref.Version)
		}
		kind := ref.EffectiveType()
		if !kind.Valid() {
			p.add(at+".type", "%q is not one of env, file, registry, tls", clip(string(ref.Type)))
			continue
		}
		if ref.EnvKey != "" && kind != secrets.SecretEnv {
			p.add(at+".env_key", "is for a secret of type %s, not %s", secrets.SecretEnv, kind)
		}
		mounted := kind == secrets.SecretFile || kind == secrets.SecretTLS
		if ref.Path != "" && !mounted {
			p.add(at+".path", "is for a secret of type %s or %s, not %s", secrets.SecretFile, secrets.SecretTLS, kind)
		}
		switch kind {
		case secrets.SecretFile:
			m.file(p, at+".path", ref.MountPath())
		case secrets.SecretTLS:
			m.dir(p, at+".path", ref.MountPath())
		}
	}
}

func validateSecretKey(p *problems, where, key string) {
	if (secrets.Ref{Tenant: "any", Key: key}).Check() != nil {
		p.add(where, "%q is no key of a secret: parts of letters, digits and ._-:@ with / between them, at most %d characters", clip(key), secrets.MaxKeyBytes)
	}
}

func validateConfigFiles(p *problems, where string, s ServiceSpec, m *mounts) {
	names := map[string]bool{}
	for i, f := range s.ConfigFiles {
		at := at(where+".config_files", i)
		validateLabelName(p, at+".name", f.Name)
		if names[f.Name] {
			p.add(at+".name", "%q is the name of another config file", clip(f.Name))
		}
		names[f.Name] = true
		m.file(p, at+".path", f.Path)
		switch f.Format {
		case "", "json", "yaml", "env", "text":
		default:
			p.add(at+".format", "%q is not one of json, yaml, env, text", clip(f.Format))
		}
		if len(f.Content) > MaxConfigFileSize {
			p.add(at+".content", "has %d bytes, the most is %d", len(f.Content), MaxConfigFileSize)
		}
		if f.Key != "" {
			validateSecretKey(p, at+".key", f.Key)
			if f.Content != "" {
				p.add(at+".key", "stands beside content; give one of them")
			}
		}
		if f.Version != 0 && (f.Version < 0 || f.Key == "") {
			p.add(at+".version", "is negative, or there is no key")
		}
	}
}

// validateEnv is about variables, and secrets that become some.
func validateEnv(p *problems, where string, s ServiceSpec) {
	for _, name := range sortedKeys(s.Env) {
		if !envForm.MatchString(name) || len(name) > maxLabelKey {
			p.add(where+".env", "%q is no name of a variable: letters, digits and _.-, not beginning with a digit", clip(name))
		}
		if value := s.Env[name]; len(value) > maxEnvValue || strings.ContainsRune(value, 0) {
			p.add(where+".env", "the value of %q holds a NUL byte or more than %d bytes", clip(name), maxEnvValue)
		}
	}
	seen := map[string]bool{}
	for i, ref := range s.Secrets {
		if ref.EffectiveType() != secrets.SecretEnv {
			continue
		}
		name, at := ref.EnvName(), at(where+".secrets", i)
		_, plain := s.Env[name]
		switch {
		case ref.EnvKey != "" && !envForm.MatchString(ref.EnvKey):
			p.add(at+".env_key", "%q is no name of a variable", clip(ref.EnvKey))
		case plain:
			p.add(at, "its variable %q is in env too", clip(name))
		case seen[name]:
			p.add(at, "its variable %q is another secret's too", clip(name))
		}
		seen[name] = true
	}
}
