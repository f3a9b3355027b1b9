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
		path := written(w.paths(), p.Path)
		if !refused.about(path) {
			d.RefuseAt(path, p.Message, "")
		}
	}
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
