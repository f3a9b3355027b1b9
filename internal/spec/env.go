package spec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxEnvVars bounds the variables of one service.
const maxEnvVars = 1000

// readEnv reads the variables. A value is the text as it is written: nothing in
// it is expanded, and 1.10, 007, yes and 2026-01-01 stay what they are.
func readEnv(d *decoder, v value, s *serviceDraft) {
	if v.Kind == yaml.SequenceNode {
		d.refuse(v, "env is a list", "write a map: NAME: value")
		return
	}
	if len(v.Content)/2 > maxEnvVars {
		d.refuse(v, fmt.Sprintf("there are %d variables", len(v.Content)/2), fmt.Sprintf("the most is %d", maxEnvVars))
		return
	}
	d.pairs(v, func(key *yaml.Node, val value) {
		if err := checkEnvName(key.Value); err != nil {
			what, do := splitAdvice(err)
			d.fail(position{key.Line, key.Column}, val.path, what, do)
			return
		}
		if val.Kind == yaml.MappingNode {
			d.refuse(val, "the value is a map", "write the value itself; references to secrets are not available yet")
			return
		}
		text, ok := d.text(val)
		if !ok {
			return
		}
		if size := len(key.Value) + 1 + len(text); size > maxArgBytes {
			d.refuse(val, fmt.Sprintf("name and value have %d bytes", size),
				fmt.Sprintf("the kernel passes at most %d to a program; put it into a volume", maxArgBytes))
			return
		}
		s.Env = append(s.Env, EnvVar{Name: key.Value, Value: text})
	})
	slices.SortFunc(s.Env, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
}
