package workfile

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
)

const maxPort = 65535

// portFields are the keys of a port.
func portFields() []field[provider.PortSpec] {
	return []field[provider.PortSpec]{
		{Name: "port", Required: true, Read: func(d *decoder, v value, p *provider.PortSpec) { p.Container, _ = d.Integer(v, 1, maxPort) }},
		{Name: "host_port", Read: func(d *decoder, v value, p *provider.PortSpec) { p.Host, _ = d.Integer(v, 1, maxPort) }},
		{Name: "protocol", Read: func(d *decoder, v value, p *provider.PortSpec) {
			p.Protocol = oneOf(d, v, provider.ProtocolTCP, provider.ProtocolUDP, provider.ProtocolHTTP, provider.ProtocolHTTPS, provider.ProtocolGRPC)
		}},
		textField("bind_address", func(p *provider.PortSpec) *string { return &p.BindAddress }),
		boolField("public", func(p *provider.PortSpec) *bool { return &p.Public }),
		listField("domains", "[shop.example.com]", func(p *provider.PortSpec) *[]string { return &p.Domains }),
		{Name: "tls", Read: func(d *decoder, v value, p *provider.PortSpec) {
			p.TLS = &provider.TLSSpec{}
			yamlfile.Section(d, v, tlsFields(), p.TLS)
		}},
	}
}

// tlsFields are the keys of tls.
func tlsFields() []field[provider.TLSSpec] {
	return []field[provider.TLSSpec]{
		textField("secret", func(t *provider.TLSSpec) *string { return &t.Secret }),
		boolField("redirect_http", func(t *provider.TLSSpec) *bool { return &t.RedirectHTTP }),
	}
}

// readPorts reads ports: a number alone is a port that is not published.
func readPorts(d *decoder, v value, s *serviceDraft) {
	s.Ports = []provider.PortSpec{}
	d.Items(v, "[8080]", func(_ int, item value) {
		var p provider.PortSpec
		if item.Kind == yaml.ScalarNode {
			p.Container, _ = d.Integer(item, 1, maxPort)
		} else {
			yamlfile.Section(d, item, portFields(), &p)
		}
		s.Ports = append(s.Ports, p)
	})
}

// checkFields are the keys of readiness and liveness.
func checkFields() []field[provider.HealthCheckSpec] {
	return []field[provider.HealthCheckSpec]{
		textField("path", func(h *provider.HealthCheckSpec) *string { return &h.Path }),
		{Name: "port", Read: func(d *decoder, v value, h *provider.HealthCheckSpec) { h.Port, _ = d.Integer(v, 1, maxPort) }},
		listField("exec", `["/bin/check"]`, func(h *provider.HealthCheckSpec) *[]string { return &h.Exec }),
		{Name: "grpc", Read: func(d *decoder, v value, h *provider.HealthCheckSpec) {
			h.GRPC = &provider.GRPCCheck{}
			yamlfile.Section(d, v, grpcFields(), h.GRPC)
		}},
		{Name: "expected_status", Read: func(d *decoder, v value, h *provider.HealthCheckSpec) {
			h.ExpectedStatus, _ = d.Integer(v, 100, 599)
		}},
		durationField("interval", func(h *provider.HealthCheckSpec) *time.Duration { return &h.Interval }),
		durationField("timeout", func(h *provider.HealthCheckSpec) *time.Duration { return &h.Timeout }),
		{Name: "retries", Read: func(d *decoder, v value, h *provider.HealthCheckSpec) { h.Retries, _ = d.Integer(v, 1, 1000) }},
		durationField("start_period", func(h *provider.HealthCheckSpec) *time.Duration { return &h.StartPeriod }),
	}
}

// grpcFields are the keys of grpc.
func grpcFields() []field[provider.GRPCCheck] {
	return []field[provider.GRPCCheck]{
		textField("service", func(g *provider.GRPCCheck) *string { return &g.Service }),
	}
}

// check reads a check. One that says nothing would be none.
func (d *decoder) check(v value) *provider.HealthCheckSpec {
	var h provider.HealthCheckSpec
	before := d.Errs.Count()
	yamlfile.Section(d, v, checkFields(), &h)
	if v.Kind == yaml.MappingNode && h.IsZero() && d.Errs.Count() == before {
		d.Refuse(v, "the check says nothing", "write path, exec or grpc, or a port to connect to; or leave it out")
	}
	return &h
}
