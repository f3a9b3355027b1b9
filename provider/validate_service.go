package provider

import (
	"net/netip"
	"regexp"
	"strings"
	"time"
)

var (
	labelForm  = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	envForm    = regexp.MustCompile(`^[A-Za-z_.-][A-Za-z0-9_.-]*$`)
	signalForm = regexp.MustCompile(`^SIG[A-Z][A-Z0-9]{1,9}([+-][0-9]{1,2})?$`)
	capForm    = regexp.MustCompile(`^[A-Z][A-Z_]{1,30}$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$`)
	domainForm = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

const (
	maxImage    = 512
	maxDomain   = 253
	maxEnvValue = 128 << 10 // what Linux takes as one string of an environment, about
)

// validateService holds one service against the rules that concern no other. Of
// a part of a deploy the ports may be unknown.
func validateService(p *problems, where string, s ServiceSpec, portsUnknown bool) {
	validateLabel(p, where+".name", s.Name, MaxServiceNameLength)
	switch {
	case strings.TrimSpace(s.Image) == "":
		p.add(where+".image", "is missing")
	case len(s.Image) > maxImage || !printable(s.Image) || strings.ContainsRune(s.Image, ' ') || s.Image[0] == '-':
		p.add(where+".image", "is no reference to an image")
	}
	switch s.EffectiveRole() {
	case RoleMain, RoleSidecar:
	case RoleInit:
		if len(s.Ports) > 0 || checks(s.HealthCheck) || checks(s.Liveness) {
			p.add(where, "an init runs to its end and has no ports, health check or liveness")
		}
	default:
		p.add(where+".role", "%q is not one of %s, %s, %s", clip(string(s.Role)), RoleMain, RoleSidecar, RoleInit)
	}
	validateResources(p, where+".resources", s.Resources)
	validateEnv(p, where, s)
	validateLabels(p, where+".annotations", s.Annotations)
	for i, port := range s.Ports {
		port.validate(p, at(where+".ports", i))
	}
	portsKnown := s.Ports
	if portsUnknown {
		portsKnown = []PortSpec{{Container: 1}} // some port, as far as can be told
	}
	s.HealthCheck.validate(p, where+".health_check", portsKnown)
	s.Liveness.validate(p, where+".liveness", portsKnown)
	validateMounts(p, where, s)
	validateProcess(p, where, s)
}

func validateLabelName(p *problems, where, name string) { validateLabel(p, where, name, MaxNameLength) }

func validateLabel(p *problems, where, name string, most int) {
	switch {
	case name == "":
		p.add(where, "is missing")
	case len(name) > most || !labelForm.MatchString(name):
		p.add(where, "%q is not 1 to %d lower-case letters, digits and hyphens, with a letter or digit at both ends", clip(name), most)
	}
}

func validateResources(p *problems, where string, r ResourceSpec) {
	for _, f := range []struct {
		name string
		n    int
	}{{"cpu_millis", r.CPUMillis}, {"memory_mb", r.MemoryMB}, {"disk_mb", r.DiskMB}, {"replicas", r.Replicas}} {
		if f.n < 0 {
			p.add(where+"."+f.name, "%d is negative", f.n)
		}
	}
}

// Validate holds a size by itself against the rules for Scale. What is wrong is a *ValidationError.
func (r ResourceSpec) Validate() error {
	var p problems
	validateResources(&p, "resources", r)
	if r.Replicas > MaxReplicas {
		p.add("resources.replicas", "%d is more than %d", r.Replicas, MaxReplicas)
	}
	return p.err()
}

// validateProcess is about how the container's process runs and ends.
func validateProcess(p *problems, where string, s ServiceSpec) {
	for _, list := range []struct {
		name  string
		words []string
	}{{"command", s.Command}, {"args", s.Args}} {
		for i, word := range list.words {
			if strings.ContainsRune(word, 0) {
				p.add(at(where+"."+list.name, i), "holds a NUL byte")
			}
		}
	}
	if s.User != "" && !userForm.MatchString(s.User) {
		p.add(where+".user", "%q is not a user, or a user and a group with a colon between", clip(s.User))
	}
	if s.WorkingDir != "" && s.WorkingDir != "/" && !cleanAbsolute(s.WorkingDir) {
		p.add(where+".working_dir", "%q is not an absolute, clean path", clip(s.WorkingDir))
	}
	if s.StopSignal != "" && !signalForm.MatchString(s.StopSignal) {
		p.add(where+".stop_signal", "%q is not the name of a signal such as SIGTERM", clip(s.StopSignal))
	}
	notNegative(p, where+".stop_grace", s.StopGrace)
	if s.Security != nil {
		if s.Security.PidsLimit < 0 {
			p.add(where+".security.pids_limit", "%d is negative", s.Security.PidsLimit)
		}
		for i, c := range s.Security.CapAdd {
			validateCap(p, at(where+".security.cap_add", i), c)
		}
		for i, c := range s.Security.CapDrop {
			validateCap(p, at(where+".security.cap_drop", i), c)
		}
	}
}

func validateCap(p *problems, where, name string) {
	if !capForm.MatchString(name) || strings.HasPrefix(name, "CAP_") {
		p.add(where, "%q is not the name of a capability without its prefix, such as NET_RAW", clip(name))
	}
}

// validate is about one port.
func (port PortSpec) validate(p *problems, where string) {
	if port.Container < 1 || port.Container > 65535 {
		p.add(where+".container", "%d is not from 1 to 65535", port.Container)
	}
	if port.Host < 0 || port.Host > 65535 {
		p.add(where+".host", "%d is not from 1 to 65535, or 0 for none", port.Host)
	}
	switch port.Protocol {
	case "", ProtocolTCP, ProtocolUDP, ProtocolHTTP, ProtocolHTTPS, ProtocolGRPC:
	default:
		p.add(where+".protocol", "%q is not one of tcp, udp, http, https, grpc", clip(port.Protocol))
	}
	if port.BindAddress != "" {
		switch address, err := netip.ParseAddr(port.BindAddress); {
		case err != nil || address.Zone() != "":
			p.add(where+".bind_address", "%q is not an IP address", clip(port.BindAddress))
		case port.Public && !address.IsUnspecified():
			p.add(where+".bind_address", "stands beside public, which is all addresses; give one of them")
		case !port.Public && address.IsUnspecified():
			p.add(where+".bind_address", "%q is all addresses; say public", port.BindAddress)
		}
	}
	for i, domain := range port.Domains {
		if len(domain) > maxDomain || !domainForm.MatchString(domain) {
			p.add(at(where+".domains", i), "%q is not a host name in lower case", clip(domain))
		}
	}
	if len(port.Domains) > 0 && port.Transport() == ProtocolUDP {
		p.add(where+".domains", "need HTTP, which has no UDP port here")
	}
	if port.TLS != nil && len(port.Domains) == 0 {
		p.add(where+".tls", "needs domains to hold a certificate for")
	}
	if port.TLS != nil && port.TLS.Secret != "" {
		validateSecretKey(p, where+".tls.secret", port.TLS.Secret)
	}
}

func notNegative(p *problems, where string, d time.Duration) {
	if d < 0 {
		p.add(where, "%s is negative", d)
	}
}

func checks(h *HealthCheckSpec) bool { return h != nil && !h.IsZero() }

// validate is about a check that may be nil.
func (h *HealthCheckSpec) validate(p *problems, where string, ports []PortSpec) {
	if !checks(h) {
		return
	}
	kinds := 0
	for _, set := range []bool{h.Path != "", len(h.Exec) > 0, h.GRPC != nil} {
		if set {
			kinds++
		}
	}
	if kinds > 1 {
		p.add(where, "has more than one of path, exec and grpc; it is one kind of probe")
	}
	if h.Path != "" && (h.Path[0] != '/' || !printable(h.Path) || strings.ContainsRune(h.Path, ' ')) {
		p.add(where+".path", "%q does not begin with / or holds what a URL cannot", clip(h.Path))
	}
	if h.ExpectedStatus != 0 && (h.Path == "" || h.ExpectedStatus < 100 || h.ExpectedStatus > 599) {
		p.add(where+".expected_status", "%d is not an HTTP status from 100 to 599, or there is no path", h.ExpectedStatus)
	}
	hasTCP := false
	for _, port := range ports {
		hasTCP = hasTCP || port.Transport() == ProtocolTCP
	}
	switch {
	case h.Port < 0 || h.Port > 65535:
		p.add(where+".port", "%d is not from 1 to 65535, or 0 for the first port", h.Port)
	case h.Port > 0 && len(h.Exec) > 0:
		p.add(where+".port", "stands beside exec, which dials nothing")
	case h.Port == 0 && len(h.Exec) == 0 && !hasTCP:
		p.add(where+".port", "is missing, and the service has no TCP port")
	}
	notNegative(p, where+".interval", h.Interval)
	notNegative(p, where+".timeout", h.Timeout)
	notNegative(p, where+".start_period", h.StartPeriod)
	if h.Retries < 0 {
		p.add(where+".retries", "%d is negative", h.Retries)
	}
}
