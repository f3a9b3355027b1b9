package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// rules holds a draft against what concerns more than one value, and resolves
// what follows from several.
func (d *decoder) rules(app *appDraft) {
	for _, s := range app.services {
		if app.name != "" && CheckName(s.Name) == nil {
			if err := CheckFullName(app.name, s.Name); err != nil {
				what, do := yamlfile.SplitAdvice(err)
				d.RefuseAt(s.path, what, do)
			}
		}
		d.groupRules(s)
		d.completionRules(s)
		d.routeRules(s)
		d.probeRules(s)
		d.strategyRules(s)
	}
	d.dependsRules(app)
	d.noShadows(app)
	d.routesOnce(app)
	d.hostPortsOnce(app)
	d.oneWriter(app)
	d.placementRules(app)
}

// routeRules: a route needs somewhere to lead to.
func (d *decoder) routeRules(s *serviceDraft) {
	if len(s.Domains) > 0 && s.Port == 0 && !s.main.written(d, "port") && !s.Completes() {
		d.RefuseAt(s.path+".domains", "the service has domains but no port", "write the port it listens on, for example port: 8080")
	}
	if s.Path != "" && !s.main.written(d, "domains") {
		d.RefuseAt(s.path+".path", "the service has a path but no domains", "write the hosts it is served on, or leave the path out")
	}
}

// probeRules: a probe needs a port or a command, and must be able to end within
// the wait.
func (d *decoder) probeRules(s *serviceDraft) {
	for _, m := range s.group() {
		d.probePort(m, "readiness", m.Readiness)
		d.probePort(m, "liveness", m.Liveness)
		if p := m.Readiness; p != nil && p.Timeout > s.ReadyTimeout {
			d.RefuseAt(m.path+".health.readiness.timeout", fmt.Sprintf("one probe may take %s, longer than the whole wait of %s",
				FormatDuration(p.Timeout), FormatDuration(s.ReadyTimeout)), "shorten it, or lengthen health.ready_timeout")
		}
	}
}

func (d *decoder) probePort(m *memberDraft, name string, p *Probe) {
	path := m.path + ".health." + name
	if p == nil || p.Port != 0 || m.Port != 0 || m.written(d, "port") {
		return
	}
	for _, key := range []string{"port", "exec"} {
		if _, ok := d.At[path+"."+key]; ok {
			return
		}
	}
	d.RefuseAt(path, "there is no port to probe", "write the port that it listens on, or a port here")
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
			d.Fail(d.At[at], s.path+".domains", fmt.Sprintf("%s leads to the service %s already (line %d)",
				route, other.Name, d.At[domainPath(other.path, host)].Line), "remove one, or give one another path")
		}
	}
}

// hostPortsOnce: one port of the host is held by one container.
func (d *decoder) hostPortsOnce(app *appDraft) {
	owner := map[int]holder{}
	for _, s := range app.services {
		for _, m := range s.group() {
			for _, p := range m.Publish {
				other, taken := owner[p.HostPort]
				if !taken {
					owner[p.HostPort] = holder{s, m}
					continue
				}
				d.Fail(d.At[publishPath(m.path, p.HostPort)], m.path+".publish",
					fmt.Sprintf("the host's port %d is published by %s already (line %d)", p.HostPort, other.seenBy(s),
						d.At[publishPath(other.path, p.HostPort)].Line), "choose another host_port")
			}
		}
	}
}

// holder is a container of a service.
type holder struct {
	service *serviceDraft
	*memberDraft
}

// seenBy names a holder to a service: one of its own members, or another service.
func (h holder) seenBy(s *serviceDraft) string {
	switch {
	case h.service == s && h.memberDraft == &s.main:
		return "the main container"
	case h.service == s:
		return "the member " + h.Name
	}
	return "the service " + h.service.Name
}

// mount is one volume as one container mounts it.
type mount struct {
	Volume
	by holder
}

// oneWriter: a volume that is not shared is written by one service. Its members
// are one writer, and readers are free.
func (d *decoder) oneWriter(app *appDraft) {
	var writers []mount
	for _, s := range app.services {
		for _, m := range s.group() {
			for _, v := range m.Volumes {
				if v.ReadOnly {
					continue
				}
				next := mount{v, holder{s, m}}
				for _, other := range writers {
					if other.by.service != s && sameStorage(other.Volume, v) && !(other.Shared && v.Shared) {
						d.refuseTwoWriters(other, next)
						break
					}
				}
				writers = append(writers, next)
			}
		}
	}
}

func (d *decoder) refuseTwoWriters(first, second mount) {
	where := volumePath(second.by.path, second.Path)
	d.Fail(d.At[where], second.by.path+".volumes", fmt.Sprintf("%s is written by the service %s too (line %d)",
		second.what(), first.by.service.Name, d.At[volumePath(first.by.path, first.Path)].Line),
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
	return "the host's " + yamlfile.Quote(v.HostPath)
}

// Single says why no more than one replica of the service may run at once, or ""
// when several may.
func (s *Service) Single() string {
	if s.Completes() {
		return "a service that runs to completion runs once"
	}
	return s.exclusiveBecause()
}

// exclusiveBecause says what makes a service exclusive; "" when nothing does.
func (s *Service) exclusiveBecause() string {
	var held []string
	hold := func(what string) {
		if !slices.Contains(held, what) {
			held = append(held, what)
		}
	}
	members := s.Members()
	for _, m := range members {
		for _, v := range m.Volumes {
			if v.Exclusive() && !s.Stateful {
				hold(v.what() + " may have one writer only")
			}
		}
	}
	for _, m := range members {
		for _, p := range m.Publish {
			if p.Pinned() {
				hold("the host's port " + strconv.Itoa(p.HostPort) + " can be held once")
			}
		}
	}
	return strings.Join(held, " and ")
}
