package dockertest

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
)

var addressCases = []SuiteCase{
	{"AnAssignedAddressIsReportedBeforeAndAfterTheStart", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.create(spec)
		for _, when := range []string{"created", "running", "stopped"} {
			switch when {
			case "running":
				s.must(s.Runtime.Start(s.ctx, id), "start")
			case "stopped":
				s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
			}
			st := s.inspect(id)
			if st.Address != spec.Network.Address || !slices.Equal(st.Networks, []string{spec.Network.Network}) {
				s.Fatalf("%s: address %v on %v", when, st.Address, st.Networks)
			}
			list, err := s.Runtime.List(s.ctx, spec.Labels)
			s.must(err, "list")
			if len(list) != 1 || list[0].Address != spec.Network.Address || !slices.Equal(list[0].Networks, st.Networks) {
				s.Fatalf("%s: listed as %+v", when, list)
			}
		}
	}},
	{"AnAddressInUseIsRefusedAndFreedByAStop", func(s *suite) {
		first := s.spec(s.Sleep)
		id := s.run(first)
		second := first
		second.Name = s.name("c")
		err := s.createAndStart(second)
		s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrAddressInUse) }, "start at a taken address")
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		_ = s.Runtime.Remove(s.ctx, second.Name)
		s.run(second)
	}},
	{"AnAddressOutsideTheSubnetIsRefused", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Network.Address = nth(s.Subnet(), 10)
		s.wantErr(s.createAndStart(spec), func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "create and start")
	}},
}

var portCases = []SuiteCase{
	{"APublishedPortIsReported", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Ports = []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: 0, ContainerPort: 8080, Protocol: "tcp"}}
		st := s.inspect(s.run(spec))
		if len(st.Ports) != 1 || st.Ports[0].HostPort == 0 || st.Ports[0].ContainerPort != 8080 || st.Ports[0].HostIP != "127.0.0.1" || st.Ports[0].Protocol != "tcp" {
			s.Fatalf("ports %+v", st.Ports)
		}
	}},
	{"APublishedPortNamesItsHostAddress", func(s *suite) {
		spec := s.spec(s.Sleep)
		spec.Ports = []docker.PortBinding{{ContainerPort: 8080, Protocol: "tcp"}}
		s.wantErr(s.createAndStart(spec), func(err error) bool { return errors.Is(err, docker.ErrInvalid) }, "publish without a host address")
	}},
	{"APublishedPortInUseIsRefused", func(s *suite) {
		s.need(s.HostPort != nil, "free host port")
		first := s.spec(s.Sleep)
		first.Ports = []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: s.HostPort(), ContainerPort: 8080, Protocol: "tcp"}}
		id := s.run(first)
		second := s.spec(s.Sleep)
		second.Ports = first.Ports
		other := s.create(second)
		err := s.Runtime.Start(s.ctx, other)
		s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrPortInUse) }, "start at a taken port")
		if s.inspect(other).Running() {
			s.Fatal("it runs all the same")
		}
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop the holder")
		s.must(s.Runtime.Start(s.ctx, other), "start at the freed port")
	}},
}

var networkCases = []SuiteCase{
	{"ANetworkIsListedWithItsSubnetAndLabels", func(s *suite) {
		spec := s.network(map[string]string{s.Prefix: "yes"})
		for _, labels := range []map[string]string{nil, {s.Prefix: ""}, {s.Prefix: "yes"}} {
			n := s.findNetwork(spec.Name, labels)
			if n == nil || !slices.Equal(n.Subnets, []netip.Prefix{spec.Subnet}) || n.Labels[s.Prefix] != "yes" || n.Driver != "bridge" || n.ID == "" || n.Created.IsZero() {
				s.Fatalf("listed by %v as %+v", labels, n)
			}
			if n.Gateway != nth(spec.Subnet, 1) {
				s.Fatalf("gateway %v is not the first address of %v", n.Gateway, spec.Subnet)
			}
		}
		if n := s.findNetwork(spec.Name, map[string]string{s.Prefix: "no"}); n != nil {
			s.Fatal("listed by a label it does not carry")
		}
	}},
	{"TheEnginesOwnNetworksAreListedWithoutLabels", func(s *suite) {
		if s.findNetwork("bridge", nil) == nil {
			s.Fatal("no bridge")
		}
	}},
	{"RunningContainersAreAttached", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.run(spec)
		n := s.findNetwork(spec.Network.Network, nil)
		want := docker.NetworkMember{ContainerID: id, Name: spec.Name, Address: spec.Network.Address}
		if !slices.Equal(n.Attached, []docker.NetworkMember{want}) {
			s.Fatalf("attached %+v, want %+v", n.Attached, want)
		}
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		if n = s.findNetwork(spec.Network.Network, nil); len(n.Attached) != 0 {
			s.Fatalf("attached after the stop: %+v", n.Attached)
		}
	}},
	{"ATakenNetworkNameIsAConflict", func(s *suite) {
		spec := s.network(nil)
		spec.Subnet = s.Subnet()
		_, err := s.Runtime.CreateNetwork(s.ctx, spec)
		s.wantErr(err, docker.IsConflict, "second network of that name")
	}},
	{"AnOverlappingSubnetIsRefused", func(s *suite) {
		spec := s.network(nil)
		half := netip.PrefixFrom(nth(spec.Subnet, 128), 25)
		other := docker.NetworkSpec{Name: s.name("net"), Subnet: half}
		_, err := s.Runtime.CreateNetwork(s.ctx, other)
		if err == nil {
			s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveNetwork(ctx, other.Name) })
		}
		s.wantErr(err, func(err error) bool { return errors.Is(err, docker.ErrSubnetOverlap) }, "overlapping network")
	}},
	{"ANetworkInUseIsNotRemoved", func(s *suite) {
		spec := s.spec(s.Sleep)
		id := s.run(spec)
		s.wantErr(s.Runtime.RemoveNetwork(s.ctx, spec.Network.Network), docker.IsConflict, "remove network")
		s.must(s.Runtime.Stop(s.ctx, id, 0), "stop")
		s.must(s.Runtime.Remove(s.ctx, id), "remove")
		s.must(s.Runtime.RemoveNetwork(s.ctx, spec.Network.Network), "remove network")
		s.must(s.Runtime.RemoveNetwork(s.ctx, spec.Network.Network), "remove network again")
	}},
	{"ANetworkIsNamedByIDToo", func(s *suite) {
		spec := docker.NetworkSpec{Name: s.name("net"), Subnet: s.Subnet()}
		id, err := s.Runtime.CreateNetwork(s.ctx, spec)
		s.must(err, "create network")
		s.cleanup(func(ctx context.Context) { _ = s.Runtime.RemoveNetwork(ctx, id) })
		c := docker.ContainerSpec{Name: s.name("c"), Image: s.Sleep.Image, Command: s.Sleep.Command, Env: s.Sleep.Env, Network: docker.NetworkAttachment{Network: id, Address: nth(spec.Subnet, 10)}}
		st := s.inspect(s.run(c))
		if !slices.Equal(st.Networks, []string{spec.Name}) || st.Address != c.Network.Address {
			s.Fatalf("on %v at %v", st.Networks, st.Address)
		}
	}},
}

func (s *suite) findNetwork(name string, labels map[string]string) *docker.NetworkDetail {
	s.Helper()
	all, err := s.Runtime.ListNetworks(s.ctx, labels)
	s.must(err, "list networks")
	for _, n := range all {
		if n.Name == name {
			return &n
		}
	}
	return nil
}
