package workfile

import (
	"errors"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// rules holds a draft against what concerns more than one value. The rules are
// those of package provider; here is only where the values are written.
func (d *decoder) rules(w *draft) {
	for _, s := range w.services {
		if s.EffectiveRole() != provider.RoleMain && s.Resources.Replicas != 0 {
			d.RefuseAt(s.path+".replicas", "a "+string(s.Role)+" runs in every replica of the main service", "write replicas there")
		}
		w.Request.Services = append(w.Request.Services, s.ServiceSpec)
	}
	var broken *provider.ValidationError
	if !errors.As(w.Request.Validate(), &broken) {
		return
	}
	refused := d.refused()
	for _, p := range broken.Problems {
		if p.Path == "instance_id" || p.Path == "tenant_id" {
			continue // no file says them
		}
		path := w.written(p.Path)
		if !refused.about(path) {
			d.RefuseAt(path, p.Message, "")
		}
	}
}

// keys are the words of a file for those of the contract, by the end of a path.
var keys = map[string]string{
	"health_check": "readiness", "mount_path": "path", "size_mb": "size", "memory_mb": "memory", "cpu_millis": "cpu",
	"disk_mb": "disk", "container": "port", "host": "host_port", "env_key": "env",
}

// written is the path in the file of a value that the contract has at a path.
func (w *draft) written(path string) string {
	var out []string
	for i, part := range strings.Split(path, ".") {
		name, index, _ := strings.Cut(part, "[")
		switch {
		case i == 0 && name == "services" && index != "":
			if s := w.service(index); s != nil {
				out = append(out, s.path)
				continue
			}
		case i > 0 && keys[name] != "":
			part = keys[name] + strings.TrimPrefix(part, name)
		}
		out = append(out, part)
	}
	return strings.ReplaceAll(strings.Join(out, "."), ".resources.replicas", ".replicas")
}

// service finds the service of an index such as "3]".
func (w *draft) service(index string) *serviceDraft {
	n := 0
	for _, c := range strings.TrimSuffix(index, "]") {
		if c < '0' || c > '9' || n > len(w.services) {
			return nil
		}
		n = 10*n + int(c-'0')
	}
	if n >= len(w.services) {
		return nil
	}
	return w.services[n]
}

// refusals are the paths that were refused already.
type refusals map[string]bool

func (d *decoder) refused() refusals {
	out := refusals{}
	for _, p := range d.Errs.Problems {
		out[p.Path] = true
	}
	return out
}

// about reports whether a path was refused, or something on the way to it or
// below it: what follows from that is not said a second time.
func (r refusals) about(path string) bool {
	for p := range r {
		if p == path || p != "" && (strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[")) ||
			strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			return true
		}
	}
	return false
}

// hints are keys of other tools' files, and of app.yaml.
var hints = map[string]string{
	"domains": "write it in a port", "publish": "write host_port in a port", "port": "the key is ports, a list",
	"expose": "the key is ports", "environment": "the key is env", "entrypoint": "the key is command, a list", "cmd": "the key is args, a list",
	"health": "the key is readiness", "health_check": "the key is readiness", "healthcheck": "the key is readiness",
	"memory": "write it in resources", "cpu": "write it in resources", "scale": "the key is replicas",
	"strategy": "write it in rollout, at the top of the file", "inits": "write each as a service with role: init",
	"sidecars": "write each as a service with role: sidecar", "configs": "the key is config_files", "workdir": "the key is working_dir",
	"privileged": "there is no way to ask for it", "devices": "there is no way to ask for it", "host_path": "there is no way to ask for a path of the host",
}

func unknown(_, key string) (hint, notYet string) { return hints[key], "" }
