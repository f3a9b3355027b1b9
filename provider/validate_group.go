package provider

import (
	"fmt"
	"slices"
	"strings"
)

// ValidateServices holds the services of one workload against the rules that hold
// for every provider. All that is wrong is in one *ValidationError.
//
//   - There is at least one service and at most MaxServices. Names are DNS labels
//     of at most MaxServiceNameLength characters, and no two are the same.
//   - Exactly one service is main; an empty role is main.
//   - DependsOn names other members and makes no circle. An init depends on
//     inits only. Main depends on a sidecar only when that does not, directly or
//     over others, depend on main.
//   - An init has no ports and no checks: it runs to its end.
//   - Ports are from 1 to 65535; no two members listen on one port of one
//     transport, or publish on one port of one address of the host.
//   - Replicas above one stand on main; other members may repeat main's number.
//   - Volumes, tmpfs, secret files and config files have absolute, clean paths
//     below "/", each its own. No file lies directly in "/", or in a directory that
//     is a mount itself.
//   - A volume that several members mount has one size, one type and the same ids.
//   - Ids of volumes are DNS labels of at most MaxVolumeIDLength characters, and each
//     stands for one volume of one replica.
//   - Variables have names of letters, digits and _.-, and no secret has the
//     name of another variable.
//   - No list or map has more than MaxEntries entries, and no number and no
//     duration is negative.
func ValidateServices(services []ServiceSpec) error {
	var p problems
	validateServices(&p, services)
	return p.err()
}

func validateServices(p *problems, services []ServiceSpec) {
	if len(services) == 0 {
		p.add("services", "is empty; a workload has at least a main service")
		return
	}
	if len(services) > MaxServices {
		p.add("services", "has %d services, the most is %d", len(services), MaxServices)
		return
	}
	if !validateLengths(p, services) {
		return
	}
	names, mains, main := map[string]int{}, 0, -1
	for i, s := range services {
		where := at("services", i)
		if first, twice := names[s.Name]; twice {
			p.add(where+".name", "%q is the name of services[%d] too", clip(s.Name), first)
		} else {
			names[s.Name] = i
		}
		if s.EffectiveRole() == RoleMain {
			mains++
			main = i
		}
		validateService(p, where, s, false)
	}
	switch {
	case mains == 0:
		p.add("services", "none has the role %s; exactly one must", RoleMain)
	case mains > 1:
		p.add("services", "%d have the role %s; exactly one must, the others are sidecars or inits", mains, RoleMain)
	default:
		validateReplicas(p, services, main)
	}
	validateDependencies(p, services, names)
	validatePorts(p, services)
	validateSharedVolumes(p, services)
}

// validateLengths stops a request before its lists are compared with each other.
func validateLengths(p *problems, services []ServiceSpec) bool {
	good := true
	for i, s := range services {
		for _, f := range []struct {
			name string
			n    int
		}{
			{"depends_on", len(s.DependsOn)}, {"env", len(s.Env)}, {"ports", len(s.Ports)}, {"volumes", len(s.Volumes)}, {"secrets", len(s.Secrets)},
			{"config_files", len(s.ConfigFiles)}, {"annotations", len(s.Annotations)}, {"command", len(s.Command)}, {"args", len(s.Args)}, {"tmpfs", len(s.Tmpfs)},
		} {
			if f.n > MaxEntries {
				p.add(at("services", i)+"."+f.name, "has %d entries, the most is %d", f.n, MaxEntries)
				good = false
			}
		}
	}
	return good
}

// validateReplicas knows main.
func validateReplicas(p *problems, services []ServiceSpec, main int) {
	wanted := max(services[main].Resources.Replicas, 1)
	if wanted > MaxReplicas {
		p.add(at("services", main)+".resources.replicas", "%d is more than %d", wanted, MaxReplicas)
	}
	for i, s := range services {
		if n := s.Resources.Replicas; i != main && n > 0 && n != wanted {
			p.add(at("services", i)+".resources.replicas", "%d is not the number of the main service, which counts for the group; leave it out", n)
		}
	}
}

// validatePorts looks for two members on one port, inside and outside.
func validatePorts(p *problems, services []ServiceSpec) {
	type inside struct {
		transport string
		port      int
	}
	listens := map[inside]string{}
	type outside struct {
		inside
		address, path string
	}
	var published []outside
	for i, s := range services {
		for j, port := range s.Ports {
			where := at(at("services", i)+".ports", j)
			in := inside{port.Transport(), port.Container}
			if first, taken := listens[in]; taken && port.Container > 0 {
				p.add(where+".container", "%s port %d is taken by %s; the members of a group share their ports", in.transport, in.port, first)
			} else {
				listens[in] = where
			}
			if port.Host <= 0 {
				continue
			}
			out := outside{inside{port.Transport(), port.Host}, port.HostAddress(), where}
			for _, other := range published {
				if other.inside == out.inside && addressesOverlap(other.address, out.address) {
					p.add(where+".host", "%s port %d of the host is taken by %s", out.transport, out.port, other.path)
					break
				}
			}
			published = append(published, out)
		}
	}
}

// addressesOverlap reports whether one socket on each would clash.
func addressesOverlap(a, b string) bool {
	all := func(s string) bool { return s == "0.0.0.0" || s == "::" }
	return a == b || all(a) || all(b)
}

// validateSharedVolumes looks for one volume that two members describe
// differently.
func validateSharedVolumes(p *problems, services []ServiceSpec) {
	type known struct {
		VolumeSpec
		path string
	}
	volumes := map[string]known{}
	for i, s := range services {
		for j, v := range s.Volumes {
			where := at(at("services", i)+".volumes", j)
			first, seen := volumes[v.Name]
			if !seen {
				volumes[v.Name] = known{v, where}
				continue
			}
			if first.SizeMB != v.SizeMB || first.Type != v.Type || first.Shared != v.Shared || !slices.Equal(first.IDs, v.IDs) {
				p.add(where, "volume %q has another size, type, sharing or other ids at %s; it is one volume", clip(v.Name), first.path)
			}
		}
	}
}

// validateWriters keeps two running containers from writing one volume that is
// not shared: two members of a group, or two replicas of a deployment, which all mount the
// same volume. An init has ended when the others run.
func validateWriters(p *problems, kind WorkloadKind, services []ServiceSpec) {
	replicas := replicasOf(services)
	writers := map[string][]string{}
	for i, s := range services {
		seen := map[string]bool{}
		for j, v := range s.Volumes {
			if v.Shared || v.ReadOnly || seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			where := at(at("services", i)+".volumes", j)
			if kind != KindStatefulSet && replicas > 1 {
				p.add(where, "volume %q would have %d writers; make the workload a %s, or the volume shared or read-only", clip(v.Name), replicas, KindStatefulSet)
			}
			if s.EffectiveRole() != RoleInit {
				writers[v.Name] = append(writers[v.Name], where)
			}
		}
	}
	for _, name := range sortedKeys(writers) {
		if paths := writers[name]; len(paths) > 1 {
			p.add(paths[1], "volume %q is written by %s too; make it shared, or read-only here", clip(name), strings.Join(paths[:1], ", "))
		}
	}
}

// roleName is for messages.
func roleName(s ServiceSpec) string { return fmt.Sprintf("%s %q", s.EffectiveRole(), clip(s.Name)) }
