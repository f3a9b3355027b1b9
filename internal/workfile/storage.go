package workfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// volumeFields are the keys of a volume.
func volumeFields() []field[provider.VolumeSpec] {
	return []field[provider.VolumeSpec]{
		textField("name", func(v *provider.VolumeSpec) *string { return &v.Name }),
		textField("path", func(v *provider.VolumeSpec) *string { return &v.MountPath }),
		mibField("size", func(v *provider.VolumeSpec) *int { return &v.SizeMB }),
		textField("type", func(v *provider.VolumeSpec) *string { return &v.Type }),
		boolField("shared", func(v *provider.VolumeSpec) *bool { return &v.Shared }),
		boolField("read_only", func(v *provider.VolumeSpec) *bool { return &v.ReadOnly }),
	}
}

func readVolumes(d *decoder, v value, s *serviceDraft) {
	s.Volumes = readAll(d, v, "[{name: data, path: /data}]", volumeFields())
}

// tmpfsFields are the keys of a tmpfs.
func tmpfsFields() []field[provider.TmpfsSpec] {
	return []field[provider.TmpfsSpec]{
		textField("path", func(t *provider.TmpfsSpec) *string { return &t.MountPath }),
		mibField("size", func(t *provider.TmpfsSpec) *int { return &t.SizeMB }),
	}
}

func readTmpfs(d *decoder, v value, s *serviceDraft) {
	s.Tmpfs = readAll(d, v, "[{path: /tmp, size: 64Mi}]", tmpfsFields())
}

// readAll reads a list of sections.
func readAll[T any](d *decoder, v value, example string, fields []field[T]) []T {
	out := []T{}
	d.Items(v, example, func(_ int, item value) {
		var one T
		yamlfile.Section(d, item, fields, &one)
		out = append(out, one)
	})
	return out
}

// secretFields are the keys of a secret.
func secretFields() []field[provider.SecretRef] {
	return []field[provider.SecretRef]{
		textField("key", func(r *provider.SecretRef) *string { return &r.Key }),
		{Name: "type", Read: func(d *decoder, v value, r *provider.SecretRef) {
			r.Type = oneOf(d, v, secrets.SecretEnv, secrets.SecretFile, secrets.SecretRegistry, secrets.SecretTLS)
		}},
		textField("env", func(r *provider.SecretRef) *string { return &r.EnvKey }),
		textField("path", func(r *provider.SecretRef) *string { return &r.Path }),
		boolField("optional", func(r *provider.SecretRef) *bool { return &r.Optional }),
		versionField(func(r *provider.SecretRef) *secrets.Version { return &r.Version }),
	}
}

// versionField is the key for a version of a value in the vault.
func versionField[T any](of func(*T) *secrets.Version) field[T] {
	return field[T]{Name: "version", Read: func(d *decoder, v value, into *T) {
		n, _ := d.Integer(v, 1, 1<<31-1)
		*of(into) = secrets.Version(n)
	}}
}

func readSecrets(d *decoder, v value, s *serviceDraft) {
	s.Secrets = readAll(d, v, "[{key: shop/TOKEN, env: TOKEN}]", secretFields())
}

// configDraft is a config file while it is read.
type configDraft struct {
	provider.ConfigFile
	from []string // the keys that say what is in it
}

// configFields are the keys of a config file.
func configFields() []field[configDraft] {
	from := func(name string, read func(*decoder, value, *configDraft)) field[configDraft] {
		return field[configDraft]{Name: name, Read: func(d *decoder, v value, f *configDraft) {
			f.from = append(f.from, name)
			read(d, v, f)
		}}
	}
	return []field[configDraft]{
		textField("name", func(f *configDraft) *string { return &f.Name }),
		textField("path", func(f *configDraft) *string { return &f.Path }),
		{Name: "format", Read: func(d *decoder, v value, f *configDraft) { f.Format = oneOf(d, v, "json", "yaml", "env", "text") }},
		from("content", func(d *decoder, v value, f *configDraft) { f.Content, _ = d.Text(v) }),
		from("file", readContent),
		from("key", func(d *decoder, v value, f *configDraft) { f.Key, _ = d.Text(v) }),
		versionField(func(f *configDraft) *secrets.Version { return &f.Version }),
	}
}

// readContent takes the content that came with the file.
func readContent(d *decoder, v value, f *configDraft) {
	name, ok := d.Text(v)
	if !ok {
		return
	}
	content, sent := d.files[name]
	if !sent {
		d.Refuse(v, "the content of "+yamlfile.Quote(name)+" did not come with the file", "apply it with `berth workload apply`, which reads it")
		return
	}
	f.Content = string(content)
}

func readConfigFiles(d *decoder, v value, s *serviceDraft) {
	s.ConfigFiles = []provider.ConfigFile{}
	d.Items(v, "[{name: settings, path: /etc/shop/settings.json, file: settings.json}]", func(_ int, item value) {
		var f configDraft
		before := d.Errs.Count()
		yamlfile.Section(d, item, configFields(), &f)
		switch {
		case item.Kind != yaml.MappingNode:
		case len(f.from) > 1:
			slices.Sort(f.from)
			d.Refuse(item, fmt.Sprintf("its content is said in more than one way: %s", strings.Join(f.from, " and ")), "keep one")
		case len(f.from) == 0 && d.Errs.Count() == before:
			d.Refuse(item, "nothing says what is in it", "write content, file, or the key of a secret")
		}
		s.ConfigFiles = append(s.ConfigFiles, f.ConfigFile)
	})
}
