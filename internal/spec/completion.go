package spec

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of a service that runs to completion.
const (
	minCompletionTimeout = time.Second
	maxCompletionTimeout = 7 * 24 * time.Hour
)

// readRestart reads the policy. Some tools write no as false.
func readRestart(d *decoder, v value, s *serviceDraft) {
	if v.Kind == yaml.ScalarNode && v.Tag == "!!bool" && v.Value == "false" && d.Untagged(v) {
		s.Restart = RestartNo
		return
	}
	name, ok := d.Text(v)
	before := d.Errs.Count()
	defer func() { s.restartRefused = !ok || d.Errs.Count() > before }()
	if !ok {
		return
	}
	switch name {
	case "always":
		s.Restart = RestartAlways
	case string(RestartOnFailure), string(RestartNo):
		s.Restart = Restart(name)
	case "unless-stopped":
		d.Refuse(v, `"unless-stopped" is not known here`, "write always, or leave it out")
	default:
		do := "write always, on-failure or no"
		if yamlfile.PlainKey(name) == "on_failure" || name == "onfailure" {
			do = "write on-failure"
		}
		d.Refuse(v, yamlfile.Quote(name)+" is not a restart policy", do)
	}
}

// completionRules: a service that runs to completion serves nobody, and runs
// once.
func (d *decoder) completionRules(s *serviceDraft) {
	if !s.Completes() {
		if s.CompletionTimeout != 0 && !s.restartRefused {
			d.RefuseAt(s.path+".completion_timeout", "a service that is always started again never completes",
				"write restart: on-failure or restart: no, or leave it out")
		}
		return
	}
	if s.CompletionTimeout == 0 {
		s.CompletionTimeout = DefaultCompletionTimeout
	}
	s.Strategy = Recreate
	for _, key := range []struct{ name, why, do string }{
		{"port", "serves nobody", "leave it out"},
		{"domains", "serves nobody", "leave it out"},
		{"health", "is judged by its exit code", "leave it out; completion_timeout bounds it"},
		{"strategy", "has one run at a time", "leave it out"},
		{"keep_previous", "has no previous release that runs on", "leave it out"},
	} {
		if s.main.written(d, key.name) {
			d.RefuseAt(s.path+"."+key.name, "a service that runs to completion "+key.why, key.do)
		}
	}
	if s.Replicas > 1 {
		d.RefuseAt(s.path+".replicas", fmt.Sprintf("%d replicas run at once, and %s", s.Replicas, s.Single()), "write 1, or leave it out")
	}
}
