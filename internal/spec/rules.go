package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// rules holds a draft against what concerns more than one value, and resolves
// what follows from several.
func (d *decoder) rules(app *appDraft) {
	for _, s := range app.services {
		if app.name != "" && CheckName(s.Name) == nil {
			if err := CheckFullName(app.name, s.Name); err != nil {
				what, do := splitAdvice(err)
				d.refuseAt(s.path, what, do)
			}
		}
		d.routeRules(s)
		d.probeRules(s)
		d.strategyRules(s)
	}
	d.routesOnce(app)
	d.hostPortsOnce(app)
	d.oneWriter(app)
}

// routeRules: a route needs somewhere to lead to.
func (d *decoder) routeRules(s *serviceDraft) {
	if len(s.Domains) > 0 && s.Port == 0 && !d.written(s, "port") {
		d.refuseAt(s.path+".domains", "the service has domains but no port", "write the port it listens on, for example port: 8080")
	}
	if s.Path != "" && !d.written(s, "domains") {
		d.refuseAt(s.path+".path", "the service has a path but no domains", "write the hosts it is served on, or leave the path out")
	}
}

// probeRules: a probe needs a port, and must be able to end within the wait.
func (d *decoder) probeRules(s *serviceDraft) {
	p := s.Readiness
	if p == nil {
		return
	}
	path := s.path + ".health.readiness"
	if p.Port == 0 && s.Port == 0 && !d.written(s, "port") && !d.written(s, "health.readiness.port") {
		d.refuseAt(path, "there is no port to probe", "write the service's port, or a port here")
	}
	if p.Timeout > s.ReadyTimeout {
		d.refuseAt(path+".timeout", fmt.Sprintf("one probe may take %s, longer than the whole wait of %s",
			FormatDuration(p.Timeout), FormatDuration(s.ReadyTimeout)), "shorten it, or lengthen health.ready_timeout")
	}
}

// written reports whether a key of a service is in the file, well or not: what
// was refused already is not missed a second time.
func (d *decoder) written(s *serviceDraft, key string) bool {
	_, ok := d.at[s.path+"."+key]
	return ok
}

// strategyRules resolves the strategy. Two releases of an exclusive service
// never run at once, so it takes recreate and one replica.
func (d *decoder) strategyRules(s *serviceDraft) {
	why := s.exclusiveBecause()
	if why != "" && s.strategyNamed && s.Strategy == BlueGreen {
		d.refuseAt(s.path+".strategy", "blue-green runs two releases at once, and "+why,
			"write recreate"+sharedAdvice(&s.Service))
	}
	if why != "" && s.Replicas > 1 {
		d.refuseAt(s.path+".replicas", fmt.Sprintf("%d replicas run at once, and %s", s.Replicas, why),
			"write 1"+sharedAdvice(&s.Service))
	}
	switch {
	case s.Strategy != "":
	case why != "":
		s.Strategy = Recreate
	default:
		s.Strategy = BlueGreen
	}
	if s.Strategy == Recreate && s.KeepPrevious > 0 {
		because := "the strategy is recreate"
		if !s.strategyNamed {
			because = why
		}
		d.refuseAt(s.path+".keep_previous", "no previous release can be kept running: "+because, "leave it out")
	}
}

// sharedAdvice offers the way out that a volume has and a port has not.
func sharedAdvice(s *Service) string {
	if len(s.Publish) > 0 {
		return ""
	}
	return ", or shared: true at the volume if the program bears several writers"
}

// routesOnce: one host and path lead to one service.
func (d *decoder) routesOnce(app *appDraft) {
	owner := map[string]*serviceDraft{}
	for _, s := range app.services {
		for _, host := range s.Domains {
			route := host + s.Path
			other, taken := owner[route]
			if !taken {
				owner[route] = s
				continue
			}
			at := domainPath(s.path, host)
			d.fail(d.at[at], s.path+".domains", fmt.Sprintf("%s leads to the service %s already (line %d)",
				route, other.Name, d.at[domainPath(other.path, host)].line), "remove one, or give one another path")
		}
	}
}

// hostPortsOnce: one port of the host is held by one container.
func (d *decoder) hostPortsOnce(app *appDraft) {
	owner := map[int]*serviceDraft{}
	for _, s := range app.services {
		for _, p := range s.Publish {
			other, taken := owner[p.HostPort]
			if !taken {
				owner[p.HostPort] = s
				continue
			}
			d.fail(d.at[publishPath(s.path, p.HostPort)], s.path+".publish",
				fmt.Sprintf("the host's port %d is published by the service %s already (line %d)", p.HostPort, other.Name,
					d.at[publishPath(other.path, p.HostPort)].line), "choose another host_port")
		}
	}
}

// mount is one volume as one service mounts it.
type mount struct {
	Volume
	by *serviceDraft
}

// oneWriter: a volume that is not shared is written by one service. Readers are
// free.
func (d *decoder) oneWriter(app *appDraft) {
	var writers []mount
	for _, s := range app.services {
		for _, v := range s.Volumes {
			if v.ReadOnly {
				continue
			}
			next := mount{v, s}
			for _, other := range writers {
				if other.by != s && sameStorage(other.Volume, v) && !(other.Shared && v.Shared) {
					d.refuseTwoWriters(other, next)
					break
				}
			}
			writers = append(writers, next)
		}
	}
}

func (d *decoder) refuseTwoWriters(first, second mount) {
	where := volumePath(second.by.path, second.Path)
	d.fail(d.at[where], second.by.path+".volumes", fmt.Sprintf("%s is written by the service %s too (line %d)",
		second.what(), first.by.Name, d.at[volumePath(first.by.path, first.Path)].line),
		"write read_only: true at one, or shared: true at both if the programs bear several writers")
}

// sameStorage reports whether writing to one volume can touch the other.
func sameStorage(a, b Volume) bool {
	if a.Name != "" || b.Name != "" {
		return a.Name == b.Name
	}
	return within(a.HostPath, b.HostPath) || within(b.HostPath, a.HostPath)
}

// what names a volume in messages.
func (v Volume) what() string {
	if v.Name != "" {
		return "the volume " + v.Name
	}
	return "the host's " + quote(v.HostPath)
}

// exclusiveBecause says what makes a service exclusive; "" when nothing does.
func (s *Service) exclusiveBecause() string {
	var held []string
	for _, v := range s.Volumes {
		if v.Exclusive() {
			held = append(held, v.what()+" may have one writer only")
		}
	}
	for _, p := range s.Publish {
		held = append(held, "the host's port "+strconv.Itoa(p.HostPort)+" can be held once")
	}
	return strings.Join(held, " and ")
}
