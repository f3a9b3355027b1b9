package translate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// FilesPrefix begins the vault's keys of a workload's own config files.
func FilesPrefix(workload id.ID) string { return fmt.Sprintf("files/%s/", workload) }

// FileKey is the vault's key of the content of a config file.
func FileKey(workload id.ID, service, file string) string {
	return FilesPrefix(workload) + service + "/" + file
}

// versionMark parts a key from the version that a release was made with; no key
// of a vault holds it.
const versionMark = "#"

// Pinned is the key by which a spec names one version of a secret, 0 being the
// newest when the release is made. Two services of a group may run with two
// versions of one secret, so the version is part of the name.
func Pinned(key string, v secrets.Version) string {
	if v == 0 {
		return key
	}
	return key + versionMark + strconv.FormatInt(int64(v), 10)
}

// Unpinned undoes Pinned.
func Unpinned(name string) (key string, v secrets.Version, err error) {
	key, text, pinned := strings.Cut(name, versionMark)
	if !pinned {
		return key, 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return "", 0, fmt.Errorf("%w: %q is no version of a secret", provider.ErrInvalid, name)
	}
	return key, secrets.Version(n), nil
}

func environment(s provider.ServiceSpec) []spec.EnvVar {
	var out []spec.EnvVar
	for name, value := range s.Env {
		out = append(out, spec.EnvVar{Name: name, Value: value})
	}
	for _, ref := range s.Secrets {
		if ref.EffectiveType() == secrets.SecretEnv {
			out = append(out, spec.EnvVar{Name: ref.EnvName(), Secret: reference(ref)})
		}
	}
	slices.SortFunc(out, func(a, b spec.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// files are what is put into the container before it starts: config files and
// secrets of type file.
func files(s provider.ServiceSpec) []spec.File {
	var out []spec.File
	for _, f := range s.ConfigFiles {
		out = append(out, spec.File{Path: f.Path, Secret: spec.SecretRef{Key: Pinned(f.Key, f.Version)}})
	}
	for _, ref := range s.Secrets {
		if ref.EffectiveType() == secrets.SecretFile {
			out = append(out, spec.File{Path: ref.MountPath(), Secret: reference(ref)})
		}
	}
	slices.SortFunc(out, func(a, b spec.File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func reference(ref provider.SecretRef) spec.SecretRef {
	return spec.SecretRef{Key: Pinned(ref.Key, ref.Version), Optional: ref.Optional}
}
