package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// Limits are what the operator allows and what the driver was given.
type Limits struct {
	// Capabilities may be added by a workload.
	Capabilities []string
	// Vault says that there is one, for secrets and config files.
	Vault bool
}

// Refusal is the provider.ErrNotSupported for fields that the driver cannot honour.
type Refusal struct{ fields []provider.Problem }

// Error lists the fields.
func (r *Refusal) Error() string {
	lines := make([]string, len(r.fields))
	for i, f := range r.fields {
		lines[i] = f.Path + ": " + f.Message
	}
	return fmt.Sprintf("%v by docker: %s", provider.ErrNotSupported, strings.Join(lines, "; "))
}

// Is makes it a provider.ErrNotSupported.
func (r *Refusal) Is(target error) bool { return target == provider.ErrNotSupported }

// Refused are the fields, for callers that have other names for them. At least one.
func (r *Refusal) Refused() []provider.Problem { return slices.Clone(r.fields) }

// refusals collects the fields that the driver cannot honour.
type refusals struct{ list []provider.Problem }

func (r *refusals) add(path, why string) {
	r.list = append(r.list, provider.Problem{Path: path, Message: why})
}

func (r *refusals) err() error {
	if len(r.list) == 0 {
		return nil
	}
	return &Refusal{r.list}
}

// Refuse is ErrNotSupported, with the path of every field, for services that ask
// for what this driver cannot do.
func (l Limits) Refuse(services []provider.ServiceSpec) error {
	var r refusals
	for i, s := range services {
		l.refuse(&r, fmt.Sprintf("services[%d]", i), s)
	}
	return r.err()
}

// RefuseDeploys does the same for the parts of a deploy, by what they set.
func (l Limits) RefuseDeploys(deploys []provider.ServiceDeploySpec) error {
	var r refusals
	for i, d := range deploys {
		l.refuse(&r, fmt.Sprintf("services[%d]", i), d.Apply(provider.ServiceSpec{Name: d.Name}))
	}
	return r.err()
}

func (l Limits) refuse(r *refusals, where string, s provider.ServiceSpec) {
	size(r, where+".resources", s.Resources)
	for i, p := range s.Ports {
		at := fmt.Sprintf("%s.ports[%d]", where, i)
		if len(p.Domains) > 0 {
			r.add(at+".domains", "it routes no domains; publish the port")
		}
		if p.TLS != nil {
			r.add(at+".tls", "it ends no TLS")
		}
	}
	for i, v := range s.Volumes {
		at := fmt.Sprintf("%s.volumes[%d]", where, i)
		if v.SizeMB != 0 {
			r.add(at+".size_mb", "volumes of an engine have no limit")
		}
		if v.Type != "" {
			r.add(at+".type", "an engine has one class of volumes")
		}
	}
	l.refuseValues(r, where, s)
	refuseCheck(r, where+".health_check", s.HealthCheck, s.Ports)
	refuseCheck(r, where+".liveness", s.Liveness, s.Ports)
	if s.Liveness != nil && s.Liveness.StartPeriod != 0 {
		r.add(where+".liveness.start_period", "liveness counts from the moment the container was ready; only the check of readiness has a start period")
	}
	l.refuseSecurity(r, where+".security", s.Security)
}

func (l Limits) refuseValues(r *refusals, where string, s provider.ServiceSpec) {
	for i, ref := range s.Secrets {
		at := fmt.Sprintf("%s.secrets[%d]", where, i)
		switch ref.EffectiveType() {
		case secrets.SecretEnv, secrets.SecretFile:
			if !l.Vault {
				r.add(at, "the driver was made without a vault")
			}
		case secrets.SecretRegistry:
			r.add(at+".type", "logins to registries are credentials of the call")
		case secrets.SecretTLS:
			r.add(at+".type", "certificates are mounted as two secrets of type file")
		}
	}
	for i := range s.ConfigFiles {
		if !l.Vault {
			r.add(fmt.Sprintf("%s.config_files[%d]", where, i), "the driver was made without a vault")
		}
	}
}

func (l Limits) refuseSecurity(r *refusals, where string, s *provider.SecuritySpec) {
	if s == nil {
		return
	}
	for i, c := range s.CapAdd {
		if !slices.Contains(l.Capabilities, c) && !slices.Contains(DefaultCapabilities(), c) {
			r.add(fmt.Sprintf("%s.cap_add[%d]", where, i), "the operator does not allow "+c)
		}
	}
	if s.NoNewPrivileges != nil && !*s.NoNewPrivileges {
		r.add(where+".no_new_privileges", "false is never allowed")
	}
}

func refuseCheck(r *refusals, where string, h *provider.HealthCheckSpec, ports []provider.PortSpec) {
	if h == nil {
		return
	}
	port := h.Port
	if port == 0 {
		port = firstPort(ports)
	}
	https := slices.ContainsFunc(ports, func(p provider.PortSpec) bool {
		return p.Container == port && p.Protocol == provider.ProtocolHTTPS
	})
	if (h.Path != "" || h.GRPC != nil) && https {
		r.add(where, "probes speak no TLS, and the port is https; use exec, or a TCP connection")
	}
}

// size is about limits of one container.
func size(r *refusals, where string, s provider.ResourceSpec) {
	if s.DiskMB != 0 {
		r.add(where+".disk_mb", "an engine does not bound what a container writes")
	}
	if s.GPU != "" {
		r.add(where+".gpu", "devices of the host are not given out")
	}
}

// RefuseSize is ErrNotSupported for a size that the driver cannot set.
func RefuseSize(s provider.ResourceSpec) error {
	var r refusals
	size(&r, "resources", s)
	return r.err()
}

// RefuseStrategy is ErrNotSupported for a strategy that the driver does not have.
func RefuseStrategy(name string) error {
	if name != provider.StrategyCanary {
		return nil
	}
	return &Refusal{[]provider.Problem{{Path: "strategy", Message: "an engine moves no part of the traffic, as " + name + " would"}}}
}
