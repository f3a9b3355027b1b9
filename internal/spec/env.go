package spec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxEnvVars bounds the variables of one container.
const maxEnvVars = 1000

// readEnv reads the variables. A value is the text as it is written: nothing in
// it is expanded, and 1.10, 007, yes and 2026-01-01 stay what they are. A map in
// its place names a secret.
func readEnv(d *decoder, v value, m *memberDraft) {
	if v.Kind == yaml.SequenceNode {
		d.Refuse(v, "env is a list", "write a map: NAME: value")
		return
	}
	if len(v.Content)/2 > maxEnvVars {
		d.Refuse(v, fmt.Sprintf("there are %d variables", len(v.Content)/2), fmt.Sprintf("the most is %d", maxEnvVars))
		return
	}
	d.Pairs(v, func(key *yaml.Node, val value) {
		if err := checkEnvName(key.Value); err != nil {
			what, do := yamlfile.SplitAdvice(err)
			d.Fail(yamlfile.PositionOf(key), val.Path, what, do)
			return
		}
		if val.Kind == yaml.MappingNode {
			s := secretDraft{variable: key.Value}
			yamlfile.Section(d, val, secretFields(), &s)
			m.Env = append(m.Env, EnvVar{Name: key.Value, Secret: s.SecretRef})
			return
		}
		text, ok := d.Text(val)
		if !ok {
			return
		}
		if size := len(key.Value) + 1 + len(text); size > maxArgBytes {
			d.Refuse(val, fmt.Sprintf("name and value have %d bytes", size),
				fmt.Sprintf("the kernel passes at most %d to a program; put it into a volume", maxArgBytes))
			return
		}
		m.Env = append(m.Env, EnvVar{Name: key.Value, Value: text})
	})
	slices.SortFunc(m.Env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
}

// secretDraft is a reference to the vault while it is read. Its key is a name
// alone until the app's is known.
type secretDraft struct {
	SecretRef
	variable string
}

// secretFields are the keys of a variable whose value is a secret.
func secretFields() []field[secretDraft] {
	return []field[secretDraft]{
		{Name: "secret", Required: true, Read: readSecretName},
		{Name: "required", Read: func(d *decoder, v value, s *secretDraft) {
			required, ok := d.Boolean(v)
			s.Optional = ok && !required
		}},
	}
}

func readSecretName(d *decoder, v value, s *secretDraft) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!bool" {
		if is, ok := d.Boolean(v); ok && is {
			s.Key = s.variable
		} else if ok {
			d.Refuse(v, "a value that is no secret is written itself", "write "+yamlfile.QuoteBare(s.variable)+": value")
		}
		return
	}
	name, ok := d.Text(v)
	if !ok {
		return
	}
	if err := CheckSecretName(name); err != nil {
		d.RefuseErr(v, err)
		return
	}
	s.Key = name
}

// SecretKey is the key in the vault of an app's secret.
func SecretKey(app, name string) string { return app + "/" + name }

// CheckSecretName says whether a secret of an app may have a name: what a
// variable may be called.
func CheckSecretName(name string) error {
	switch {
	case len(name) > maxEnvNameBytes:
		return yamlfile.Advise(fmt.Sprintf("the name has %d characters", len(name)), fmt.Sprintf("the most is %d", maxEnvNameBytes))
	case !envNameForm.MatchString(name):
		return yamlfile.Advise(yamlfile.Quote(name)+" is not the name of a secret", "write letters, digits and _, no digit first")
	}
	return nil
}

// secretKeys makes the names of secrets keys of the vault.
func secretKeys(app string, env []EnvVar) {
	for i := range env {
		if env[i].Secret.Key != "" {
			env[i].Secret.Key = SecretKey(app, env[i].Secret.Key)
		}
	}
}
