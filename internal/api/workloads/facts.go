package workloads

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

// fact is what one key of the workload file says of a service.
type fact struct {
	field string
	text  string // for people; of a private one it is shown when a workload is new alone
	value string // tells it from another of the same text
	// private values are not shown: of a change only that there is one.
	private bool
}

// shown is what may be seen of it beside what it was, or becomes.
func (f fact) shown() string {
	if f.private {
		return wire.HiddenValue
	}
	return f.text
}

// facts are those of a service, in the order of the reference of the file.
type facts []fact

func (l *facts) add(field, text string, value any) {
	if text == "" {
		return
	}
	encoded, _ := json.Marshal(value) // no field of a service fails that
	*l = append(*l, fact{field: field, text: text, value: string(encoded)})
}

func (l *facts) hide(field, text string, value any) {
	l.add(field, text, value)
	(*l)[len(*l)-1].private = true
}

// factsOf are what a service says that is not what it says by default.
func factsOf(svc provider.ServiceSnapshot, main bool) facts {
	var l facts
	l.add("image", svc.Image, nil)
	l.add("command", texts(svc.Command), svc.Command)
	l.add("args", texts(svc.Args), svc.Args)
	for _, name := range slices.Sorted(maps.Keys(svc.Env)) {
		l.hide(yamlfile.Join("env", name), wire.HiddenValue, svc.Env[name])
	}
	r := size(svc.Resources, main)
	l.add("replicas", count(r.Replicas), nil)
	l.add("resources.memory", mebibytes(r.MemoryMB), nil)
	l.add("resources.cpu", cores(r.CPUMillis), nil)
	l.add("resources.disk", mebibytes(r.DiskMB), nil)
	l.add("resources.gpu", r.GPU, nil)
	l.add("ports", list(svc.Ports, portText), svc.Ports)
	l.add("volumes", list(svc.Volumes, volumeText), svc.Volumes)
	l.add("tmpfs", list(svc.Tmpfs, tmpfsText), svc.Tmpfs)
	l.add("readiness", checkText(svc.HealthCheck), svc.HealthCheck)
	l.add("liveness", checkText(svc.Liveness), svc.Liveness)
	for _, ref := range svc.Secrets {
		l.hide("secrets["+ref.Key+"]", secretPlace(ref), ref)
	}
	for _, f := range svc.ConfigFiles {
		f.Content = "" // one that is not kept yet has no key, and differs by that
		l.hide("config_files["+f.Name+"]", f.Path, f)
	}
	for _, key := range slices.Sorted(maps.Keys(svc.Annotations)) {
		l.add(yamlfile.Join("annotations", key), yamlfile.Quote(svc.Annotations[key]), svc.Annotations[key])
	}
	l.add("security", securityText(svc.Security), svc.Security)
	l.add("user", deref(svc.User), nil)
	l.add("working_dir", deref(svc.WorkingDir), nil)
	if svc.Init != nil && *svc.Init {
		l.add("init", "true", nil)
	}
	if svc.StopGrace != nil {
		l.add("stop_grace", duration(*svc.StopGrace), nil)
	}
	l.add("stop_signal", deref(svc.StopSignal), nil)
	return l
}

// The functions below write values as the file has them. What is not there is "".

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func mebibytes(n int) string {
	if n == 0 {
		return ""
	}
	return spec.FormatBytes(int64(n) << 20)
}

func cores(milli int) string {
	if milli == 0 {
		return ""
	}
	return spec.FormatMilliCPU(int64(milli))
}

func duration(t time.Duration) string {
	if t == 0 {
		return ""
	}
	return spec.FormatDuration(t)
}

func flag(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func texts(words []string) string { return list(words, yamlfile.Quote) }

func bareTexts(words []string) string { return list(words, yamlfile.QuoteBare) }

func list[T any](all []T, text func(T) string) string {
	if len(all) == 0 {
		return ""
	}
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = text(one)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// pairs is a map of keys and values, without those that say nothing.
func pairs(all ...string) string {
	var out []string
	for i := 0; i+1 < len(all); i += 2 {
		if all[i+1] != "" {
			out = append(out, all[i]+": "+all[i+1])
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func portText(p provider.PortSpec) string {
	protocol := p.Protocol
	if protocol == provider.ProtocolTCP {
		protocol = ""
	}
	tls := ""
	if p.TLS != nil {
		if tls = pairs("secret", p.TLS.Secret, "redirect_http", flag(p.TLS.RedirectHTTP)); tls == "" {
			tls = "{}"
		}
	}
	more := []string{"host_port", count(p.Host), "protocol", protocol, "bind_address", p.BindAddress, "public", flag(p.Public), "domains", bareTexts(p.Domains), "tls", tls}
	if pairs(more...) == "" {
		return strconv.Itoa(p.Container)
	}
	return pairs(append([]string{"port", strconv.Itoa(p.Container)}, more...)...)
}

func volumeText(v provider.VolumeSpec) string {
	return pairs("name", v.Name, "path", v.MountPath, "size", mebibytes(v.SizeMB), "type", v.Type, "shared", flag(v.Shared), "read_only", flag(v.ReadOnly), "ids", bareTexts(v.IDs))
}

func tmpfsText(t provider.TmpfsSpec) string {
	return pairs("path", t.MountPath, "size", mebibytes(t.SizeMB))
}

func checkText(h *provider.HealthCheckSpec) string {
	if h == nil {
		return ""
	}
	grpc := ""
	if h.GRPC != nil {
		if grpc = pairs("service", h.GRPC.Service); grpc == "" {
			grpc = "{}"
		}
	}
	return pairs("path", h.Path, "port", count(h.Port), "exec", texts(h.Exec), "grpc", grpc, "expected_status", count(h.ExpectedStatus),
		"interval", duration(h.Interval), "timeout", duration(h.Timeout), "retries", count(h.Retries), "start_period", duration(h.StartPeriod))
}

func securityText(s *provider.SecuritySpec) string {
	if s == nil {
		return ""
	}
	privileges := ""
	if s.NoNewPrivileges != nil {
		privileges = fmt.Sprint(*s.NoNewPrivileges)
	}
	return pairs("read_only_root_fs", flag(s.ReadOnlyRootFS), "cap_add", bareTexts(s.CapAdd), "cap_drop", bareTexts(s.CapDrop), "no_new_privileges", privileges, "pids_limit", count(int(s.PidsLimit)))
}

// secretPlace says how a secret reaches the container.
func secretPlace(ref provider.SecretRef) string {
	switch place := string(ref.EffectiveType()); place {
	case "env":
		return "env " + ref.EnvName()
	case "registry":
		return place
	default:
		return place + " " + ref.MountPath()
	}
}
