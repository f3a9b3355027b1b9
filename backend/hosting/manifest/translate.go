package manifest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// Size is what a SKU gives to each container of a service.
type Size struct {
	CPUCores float64 // more than zero
	MemoryMB int     // in units of 1024*1024 bytes, swap counted in; more than zero
}

// Place is what the host adds to a service of a tenant.
type Place struct {
	Size Size

	// BindAddress is the address of the host on which the declared ports are
	// published, each on a port that is free then. An unspecified address is all.
	BindAddress netip.Addr

	// Volumes are mounted in every replica, each replica having its own.
	Volumes []provider.VolumeSpec

	// Keeps says that the service is to be one whose replicas keep volumes, also while
	// it has none: a later document may have some.
	Keeps bool

	// Tmpfs are directories in memory beside those of the document and those that
	// every container has, such as the volumes of an image that gets none. One that
	// is there already, or has a volume, is passed over.
	Tmpfs []string
}

// ErrPlace is a Place that no service can run in. It is the host's mistake, and not
// the tenant's.
var ErrPlace = errors.New("no place for a service")

// Workload is one service of a lease as a provider runs it.
type Workload struct {
	// Request has Name, Kind and Services; who it is for, its network and its labels
	// are the caller's.
	Request provider.ProvisionRequest
}

// Workload makes of the service that an item names one workload: main alone, with as
// many replicas as the item's quantity. It is a stateful set when it has volumes, or is to
// keep some, so that each replica has its own, and a deployment otherwise.
//
// The name of an item that has none is DefaultService. An item that no service has, and
// a service that providers do not take, are backend.ErrInvalidManifest: such as a
// stateful one whose name is longer than provider.MaxStatefulNameLength, or one with a
// directory in memory where a volume is. A quantity of zero, for which there is nothing
// to run, and one above provider.MaxReplicas are backend.ErrValidation. What is wrong
// with at is ErrPlace.
func (s *Stack) Workload(item backend.LeaseItem, at Place) (Workload, error) {
	name := item.ServiceName
	if name == "" {
		name = DefaultService
	}
	service := s.Services[name]
	switch {
	case service == nil:
		return Workload{}, fmt.Errorf("%w: lease item %s has no matching manifest service", backend.ErrInvalidManifest, quote(name))
	case at.keeps() && len(name) > provider.MaxStatefulNameLength:
		var f faults
		f.add((*place)(nil).field("services").field(name), "is a name of more than %d characters, which no service with a disk can have; shorten it", provider.MaxStatefulNameLength)
		return Workload{}, f.err()
	case item.Quantity < 1 || item.Quantity > provider.MaxReplicas:
		return Workload{}, fmt.Errorf("%w: lease item %s has the quantity %d; a workload has 1 to %d", backend.ErrValidation, quote(name), item.Quantity, provider.MaxReplicas)
	}
	if err := at.check(); err != nil {
		return Workload{}, err
	}
	if err := service.crossings(name, at.Volumes); err != nil {
		return Workload{}, err
	}
	spec := service.spec(name, item.Quantity, at)
	if err := provider.ValidateServices([]provider.ServiceSpec{spec}); err != nil {
		return Workload{}, refusal(name, err)
	}
	kind := provider.KindDeployment
	if at.keeps() {
		kind = provider.KindStatefulSet
	}
	return Workload{Request: provider.ProvisionRequest{Name: name, Kind: kind, Services: []provider.ServiceSpec{spec}}}, nil
}

// keeps reports whether each replica of a service has volumes of its own, or may come to
// have some.
func (at Place) keeps() bool { return at.Keeps || len(at.Volumes) > 0 }

func (at Place) check() error {
	millis := at.Size.CPUCores * 1000
	switch {
	case !(millis >= 1) || millis > math.MaxInt32: // so that NaN is caught
		return fmt.Errorf("%w: %g cores are not from 0.001 on; zero would be no limit", ErrPlace, at.Size.CPUCores)
	case at.Size.MemoryMB < 1:
		return fmt.Errorf("%w: %d MB of memory are not from 1 on; zero would be no limit", ErrPlace, at.Size.MemoryMB)
	case !at.BindAddress.IsValid() || at.BindAddress.Zone() != "":
		return fmt.Errorf("%w: there is no address to publish ports on", ErrPlace)
	}
	return nil
}

// crossings finds directories that are to be in memory and hold a volume.
func (s *Service) crossings(name string, volumes []provider.VolumeSpec) error {
	var f faults
	for i, dir := range s.Tmpfs {
		if slices.ContainsFunc(volumes, func(v provider.VolumeSpec) bool { return v.MountPath == dir }) {
			f.add((*place)(nil).field("services").field(name).field("tmpfs").element(i), "is where the service has a volume; remove it")
		}
	}
	return f.err()
}

// refusal is what a provider says of a service, as a fault of the document. The
// rules of documents are to be as strict, so that this is for what they missed. The
// words of the provider quote values, and stay out.
func refusal(name string, err error) error {
	var f faults
	at := (*place)(nil).field("services").field(name)
	var wrong *provider.ValidationError
	if !errors.As(err, &wrong) {
		f.add(at, "is not taken by the provider")
		return f.err()
	}
	for _, p := range wrong.Problems {
		f.add(at, "is not taken by the provider for its %s", quote(p.Path))
	}
	return f.err()
}

// spec is the one container that each replica is.
func (s *Service) spec(name string, replicas int, at Place) provider.ServiceSpec {
	return provider.ServiceSpec{
		Name:  name,
		Image: s.Image,
		Role:  provider.RoleMain,
		Resources: provider.ResourceSpec{
			CPUMillis: int(math.Round(at.Size.CPUCores * 1000)),
			MemoryMB:  at.Size.MemoryMB,
			Replicas:  replicas,
		},
		Env:         maps.Clone(s.Env),
		Annotations: maps.Clone(s.Labels),
		Ports:       s.portSpecs(at.BindAddress),
		Volumes:     slices.Clone(at.Volumes),
		HealthCheck: s.HealthCheck.spec(),
		Command:     slices.Clone(s.Command),
		Args:        slices.Clone(s.Args),
		User:        s.User,
		Tmpfs:       s.tmpfsSpecs(at),
		Init:        s.Init,
		StopGrace:   s.StopGrace,
		Security:    hardened(),
	}
}

// portSpecs begin with the port that host names lead to, since a provider asks the
// first one where there is no health check.
func (s *Service) portSpecs(bind netip.Addr) []provider.PortSpec {
	route, _ := s.RoutePort()
	var out []provider.PortSpec
	for _, p := range s.Ports {
		spec := provider.PortSpec{
			Container: p.Number, Protocol: string(p.Protocol),
			BindAddress: bind.String(), Public: bind.IsUnspecified(),
		}
		if p == route {
			out = slices.Insert(out, 0, spec)
		} else {
			out = append(out, spec)
		}
	}
	for _, p := range s.Expose {
		out = append(out, provider.PortSpec{Container: p.Number, Protocol: string(p.Protocol)})
	}
	return out
}

// AskedPort is the port that a provider asks whether the service is ready, where it has no
// health check; false means that there is none of TCP.
func (s *Service) AskedPort() (Port, bool) {
	if p, ok := s.RoutePort(); ok {
		return p, true
	}
	for _, p := range s.Expose {
		if p.Protocol == TCP {
			return p, true
		}
	}
	return Port{}, false
}

// tenantShell runs a tenant's check inside the tenant's own container; nothing of it
// is run by the host.
const tenantShell = "/bin/sh"

// spec is nil for nil.
func (h *HealthCheck) spec() *provider.HealthCheckSpec {
	if h == nil {
		return nil
	}
	exec := slices.Clone(h.Args)
	if h.Kind == TestShell {
		exec = append([]string{tenantShell, "-c"}, h.Args...)
	}
	return &provider.HealthCheckSpec{
		Exec: exec, Interval: h.Interval, Timeout: h.Timeout, Retries: h.Retries, StartPeriod: h.StartPeriod,
	}
}
