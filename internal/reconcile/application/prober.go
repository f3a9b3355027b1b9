package application

import (
	"context"
	"net"
	"net/netip"

	"github.com/berth-cloud/berth/internal/probe"
	"github.com/berth-cloud/berth/internal/spec"
)

// DialProber probes by dialling the container's address; its zero value dials
// from this machine.
type DialProber struct{ Dialer probe.Dialer }

var _ Prober = DialProber{}

// Probe asks by HTTP or gRPC where that is declared, else whether the port takes
// connections.
func (p DialProber) Probe(ctx context.Context, addr netip.AddrPort, declared *spec.Probe) (bool, string) {
	d := p.Dialer
	if d == nil {
		d = &net.Dialer{}
	}
	s := probe.Spec{Kind: probe.TCP, Address: addr.String(), Timeout: spec.DefaultProbeTimeout}
	switch {
	case declared == nil:
	case declared.GRPC:
		s.Kind, s.Service, s.Timeout = probe.GRPC, declared.GRPCService, declared.Timeout
	case declared.Path != "":
		ranges, err := probe.ParseStatusRanges(declared.ExpectedStatus)
		if err != nil {
			return false, "expected_status: " + err.Error()
		}
		s.Kind, s.Path, s.Expected, s.Timeout = probe.HTTP, declared.Path, ranges, declared.Timeout
	default:
		s.Timeout = declared.Timeout
	}
	r := probe.Run(ctx, d, s)
	return r.OK, r.Explain()
}
