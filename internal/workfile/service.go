package workfile

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
)

// serviceDraft is a service while it is read.
type serviceDraft struct {
	provider.ServiceSpec
	path string
}

// serviceFields are the keys of a service.
func serviceFields() []field[serviceDraft] {
	return []field[serviceDraft]{
		{Name: "image", Read: readImage},
		{Name: "role", Read: func(d *decoder, v value, s *serviceDraft) {
			s.Role = oneOf(d, v, provider.RoleMain, provider.RoleSidecar, provider.RoleInit)
		}},
		listField("depends_on", "[migrate]", func(s *serviceDraft) *[]string { return &s.DependsOn }),
		listField("command", `["/bin/server"]`, func(s *serviceDraft) *[]string { return &s.Command }),
		listField("args", `["--port", "8080"]`, func(s *serviceDraft) *[]string { return &s.Args }),
		{Name: "env", Read: func(d *decoder, v value, s *serviceDraft) { s.Env = d.texts(v) }},
		{Name: "replicas", Read: func(d *decoder, v value, s *serviceDraft) {
			s.Resources.Replicas, _ = d.Integer(v, 1, provider.MaxReplicas)
		}},
		{Name: "resources", Read: func(d *decoder, v value, s *serviceDraft) {
			yamlfile.Section(d, v, resourceFields(), &s.Resources)
		}},
		{Name: "ports", Read: readPorts},
		{Name: "volumes", Read: readVolumes},
		{Name: "tmpfs", Read: readTmpfs},
		{Name: "readiness", Read: func(d *decoder, v value, s *serviceDraft) { s.HealthCheck = d.check(v) }},
		{Name: "liveness", Read: func(d *decoder, v value, s *serviceDraft) { s.Liveness = d.check(v) }},
		{Name: "secrets", Read: readSecrets},
		{Name: "config_files", Read: readConfigFiles},
		{Name: "annotations", Read: func(d *decoder, v value, s *serviceDraft) { s.Annotations = d.texts(v) }},
		{Name: "security", Read: func(d *decoder, v value, s *serviceDraft) {
			s.Security = &provider.SecuritySpec{}
			yamlfile.Section(d, v, securityFields(), s.Security)
		}},
		textField("user", func(s *serviceDraft) *string { return &s.User }),
		textField("working_dir", func(s *serviceDraft) *string { return &s.WorkingDir }),
		boolField("init", func(s *serviceDraft) *bool { return &s.Init }),
		durationField("stop_grace", func(s *serviceDraft) *time.Duration { return &s.StopGrace }),
		textField("stop_signal", func(s *serviceDraft) *string { return &s.StopSignal }),
	}
}

// readImage refuses what no registry could have: a provider would do so once the
// rest of the file has been taken in.
func readImage(d *decoder, v value, s *serviceDraft) {
	text, ok := d.Text(v)
	if !ok {
		return
	}
	if _, err := spec.ParseImage(text); text != "" && err != nil {
		d.RefuseErr(v, err)
	}
	s.Image = text
}

// resourceFields are the keys of resources.
func resourceFields() []field[provider.ResourceSpec] {
	return []field[provider.ResourceSpec]{
		mibField("memory", func(r *provider.ResourceSpec) *int { return &r.MemoryMB }),
		{Name: "cpu", Read: readCPU},
		mibField("disk", func(r *provider.ResourceSpec) *int { return &r.DiskMB }),
		textField("gpu", func(r *provider.ResourceSpec) *string { return &r.GPU }),
	}
}

// maxMilliCPU bounds the processor of one container.
const maxMilliCPU = 1024 * 1000

func readCPU(d *decoder, v value, r *provider.ResourceSpec) {
	text, ok := d.Text(v)
	if !ok {
		return
	}
	n, err := spec.ParseMilliCPU(text)
	switch {
	case err != nil:
		d.RefuseErr(v, err)
	case n < 1 || n > maxMilliCPU:
		d.Refuse(v, yamlfile.QuoteBare(text)+" is out of range", fmt.Sprintf("write cores from %s to %s", spec.FormatMilliCPU(1), spec.FormatMilliCPU(maxMilliCPU)))
	default:
		r.CPUMillis = int(n)
	}
}

// securityFields are the keys of security.
func securityFields() []field[provider.SecuritySpec] {
	return []field[provider.SecuritySpec]{
		boolField("read_only_root_fs", func(s *provider.SecuritySpec) *bool { return &s.ReadOnlyRootFS }),
		listField("cap_add", "[NET_BIND_SERVICE]", func(s *provider.SecuritySpec) *[]string { return &s.CapAdd }),
		listField("cap_drop", "[ALL]", func(s *provider.SecuritySpec) *[]string { return &s.CapDrop }),
		{Name: "no_new_privileges", Read: func(d *decoder, v value, s *provider.SecuritySpec) {
			if is, ok := d.Boolean(v); ok {
				s.NoNewPrivileges = &is
			}
		}},
	}
}
