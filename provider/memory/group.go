package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// members are the containers of a release, all of them or those of one replica,
// and what the release says that they should be.
type members struct {
	release  *release
	turn     int
	replica  int
	services []provider.ServiceSpec
	all      []seen // of the release
	rest     []seen // of the instance, and not of the release
}

// members finds the containers of a release.
func (p *Provider) members(rec *record, of id.ID, turn int, all []seen) members {
	m := members{release: rec.release(of), turn: turn, services: rec.services(of)}
	for _, s := range all {
		if s.group.release == of && s.group.turn == turn {
			m.all = append(m.all, s)
		} else {
			m.rest = append(m.rest, s)
		}
	}
	return m
}

// group are the members of one replica.
func (m members) group(replica int) members {
	m.replica = replica
	m.all = slices.DeleteFunc(slices.Clone(m.all), func(s seen) bool { return s.group.replica != replica })
	return m
}

// others is what is not of the release, or of a replica that is not wanted.
func (m members) others(replicas int) []seen {
	out := slices.Clone(m.rest)
	for _, s := range m.all {
		if s.group.replica >= replicas {
			out = append(out, s)
		}
	}
	return out
}

func (m members) find(service string) (seen, bool) {
	for _, s := range m.all {
		if s.service == service {
			return s, true
		}
	}
	return seen{}, false
}

func (m members) spec(service string) *provider.ServiceSpec {
	for i := range m.services {
		if m.services[i].Name == service {
			return &m.services[i]
		}
	}
	return nil
}

// ready reports whether every member is, and inits have ended well.
func (m members) ready() bool {
	for _, spec := range m.services {
		if s, ok := m.find(spec.Name); !ok || !s.good(spec) {
			return false
		}
	}
	return true
}

// good reports whether a container is as far as it should come.
func (s seen) good(spec provider.ServiceSpec) bool {
	if spec.EffectiveRole() == provider.RoleInit {
		return s.state == exited && s.exit == 0 && s.failure == "" && s.askedAt.IsZero()
	}
	return s.state == running && s.health.ready && s.askedAt.IsZero()
}

// probes is how often the members of a group are looked at when all is well; 0 when
// there is nothing to probe.
func (m members) probes() time.Duration {
	least := time.Duration(0)
	for _, spec := range m.services {
		if (spec.HealthCheck == nil || spec.HealthCheck.IsZero()) && (spec.Liveness == nil || spec.Liveness.IsZero()) && len(spec.Ports) == 0 {
			continue
		}
		if d := interval(spec.HealthCheck, spec.Liveness); least == 0 || d < least {
			least = d
		}
	}
	return least
}

// bringUp starts what can be started of a group and reports whether all of it is
// ready. Of a release that serves what ended is started again; of another it is a
// failure.
func (p *Provider) bringUp(ctx context.Context, rec *record, g members, serving bool) (bool, error) {
	order, err := provider.StartOrder(g.services)
	if err != nil {
		return false, err
	}
	for _, name := range order {
		spec := g.spec(name)
		s, ok := g.find(name)
		if ok && s.good(*spec) && (!serving || s.health.alive < retries(spec.Liveness)) {
			continue
		}
		if !g.mayStart(*spec) {
			if spec.EffectiveRole() == provider.RoleInit {
				return false, nil
			}
			continue
		}
		if err := p.start(ctx, rec, g, *spec, s, ok, serving); err != nil {
			return false, err
		}
		if spec.EffectiveRole() == provider.RoleInit {
			return false, nil
		}
		if !ok {
			// A sidecar behind main may go on at once.
			g.all = append(slices.Clone(g.all), p.newest(rec, g, name)...)
		}
	}
	return g.ready(), nil
}

// newest looks at a member that was just made.
func (p *Provider) newest(rec *record, g members, service string) []seen {
	for _, o := range p.cluster.of(rec.Request.InstanceID) {
		if o.name == g.name(rec, service) {
			return []seen{o.look()}
		}
	}
	return nil
}

// mayStart reports whether what a member waits for is there.
func (m members) mayStart(spec provider.ServiceSpec) bool {
	for _, other := range m.services {
		s, ok := m.find(other.Name)
		before := other.EffectiveRole() == provider.RoleInit && spec.EffectiveRole() != provider.RoleInit
		if (before || slices.Contains(spec.DependsOn, other.Name)) && (!ok || !s.good(other)) {
			return false
		}
	}
	if spec.EffectiveRole() != provider.RoleSidecar || m.mainNeeds(spec.Name) {
		return true
	}
	s, ok := m.find(mainOf(m.services).Name)
	return ok && s.state == running
}

// mainNeeds reports whether main depends on a service, directly or over others.
func (m members) mainNeeds(service string) bool {
	seen, next := map[string]bool{}, []string{mainOf(m.services).Name}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if name == service {
			return true
		}
		if spec := m.spec(name); spec != nil && !seen[name] {
			next = append(next, spec.DependsOn...)
		}
		seen[name] = true
	}
	return false
}

// start does for one member what is to be done now.
func (p *Provider) start(ctx context.Context, rec *record, g members, spec provider.ServiceSpec, s seen, there, serving bool) error {
	switch {
	case s.waitsFor != "":
		return nil
	case !there:
		o, err := p.create(ctx, rec, g, spec)
		if err != nil {
			return err
		}
		return p.run(ctx, o)
	case s.state == created:
		return p.run(ctx, s.container)
	case s.state == running && serving && s.health.alive >= retries(spec.Liveness):
		return p.wire.do(ctx, "restart "+s.name, func() error { s.again(); return nil })
	case s.state == running:
		return nil
	case !s.askedAt.IsZero():
		return p.run(ctx, s.container)
	case !serving:
		return s.broken(spec)
	case p.cluster.now().Before(s.endedAt.Add(backoff(s.restarts))):
		return nil
	}
	return p.run(ctx, s.container)
}

func (p *Provider) run(ctx context.Context, o *container) error {
	return p.wire.do(ctx, "start "+o.name, o.start)
}

// Bounds of the time between the end of a container and its next start.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

func backoff(restarts int) time.Duration {
	return min(firstBackoff<<min(restarts, 10), maxBackoff)
}

// broken is the failure of a member that ended.
func (s seen) broken(spec provider.ServiceSpec) *failure {
	f := &failure{Service: spec.Name, Reason: provider.ReasonExited}
	switch {
	case s.failure != "":
		f.Reason, f.Message = provider.ReasonStartFailed, s.failure
		return f
	case s.oom:
		f.Reason = provider.ReasonOutOfMemory
	case spec.EffectiveRole() == provider.RoleInit:
		f.Reason = provider.ReasonInitFailed
	}
	f.Message = fmt.Sprintf("%s %s of replica %d ended with exit code %d", spec.EffectiveRole(), spec.Name, s.group.replica, s.exit)
	if last := s.log.last(); last != "" {
		f.Message += ": " + last
	}
	return f
}

var errExists = errors.New("memory: there is a container of that name")

// name is that of a member of the group.
func (m members) name(rec *record, service string) string {
	return fmt.Sprintf("%s/%s.%d/%d/%s", rec.Request.InstanceID, m.release.ID, m.turn, m.replica, service)
}

// create makes the container of a member with all that is in it.
func (p *Provider) create(ctx context.Context, rec *record, g members, spec provider.ServiceSpec) (*container, error) {
	image, err := p.cluster.image(spec.Image)
	if err != nil {
		return nil, &failure{spec.Name, provider.ReasonImageUnavailable, err.Error()}
	}
	req := rec.Request
	own := map[string]string{
		"berth.instance": req.InstanceID.String(), "berth.tenant": req.TenantID, "berth.service": spec.Name,
		"berth.release": g.release.ID.String(), "berth.turn": fmt.Sprint(g.turn), "berth.replica": fmt.Sprint(g.replica),
	}
	o := &container{
		name: g.name(rec, spec.Name), instance: req.InstanceID, tenant: req.TenantID, service: spec.Name,
		group: group{g.release.ID, g.turn, g.replica}, main: spec.EffectiveRole() == provider.RoleMain,
		spec: spec, image: image, labels: withLabels(req.Labels, spec.Annotations, own),
		network: "instance/" + req.InstanceID.String(),
	}
	if req.Network != "" {
		o.network, o.workload = "tenant/"+req.TenantID+"/"+req.Network, req.Name
	}
	if err := p.wire.do(ctx, "join network "+o.network, func() error { p.cluster.join(o.network, req.InstanceID); return nil }); err != nil {
		return nil, err
	}
	if err := p.mount(ctx, rec, o); err != nil {
		return nil, err
	}
	if err := p.fill(ctx, rec, g.release, o); err != nil {
		return nil, err
	}
	err = p.wire.do(ctx, "create "+o.name, func() error { return p.cluster.add(o) })
	if errors.Is(err, errExists) { // a look missed it
		for _, other := range p.cluster.of(req.InstanceID) {
			if other.name == o.name {
				return other, nil
			}
		}
	}
	return o, err
}

// mount gives a container its volumes, which are made when there are none.
func (p *Provider) mount(ctx context.Context, rec *record, o *container) error {
	kept, err := p.keptOf(ctx, o)
	if err != nil {
		return err
	}
	c := p.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range o.spec.Volumes {
		if have := kept[v.Name]; have != nil {
			o.mounts = append(o.mounts, mount{path: v.MountPath, files: &have.files, readOnly: v.ReadOnly, kept: have})
			continue
		}
		name := o.instance.String() + "/" + v.Name
		if rec.Request.Kind == provider.KindStatefulSet {
			name += fmt.Sprintf("/%d", o.group.replica)
		}
		if c.volumes[name] == nil {
			c.volumes[name] = &volume{instance: o.instance}
		}
		o.mounts = append(o.mounts, mount{path: v.MountPath, files: &c.volumes[name].files, readOnly: v.ReadOnly})
	}
	for _, t := range o.spec.Tmpfs {
		o.mounts = append(o.mounts, mount{path: t.MountPath, files: &fileset{}})
	}
	return nil
}

// Modes of files that a provider writes.
const (
	configMode = 0o644
	secretMode = 0o444
)

// fill gives a container its variables, secrets and config files.
func (p *Provider) fill(ctx context.Context, rec *record, rel *release, o *container) error {
	o.env = map[string]string{}
	maps.Copy(o.env, o.image.Env)
	maps.Copy(o.env, o.spec.Env)
	get := func(key string) (secrets.Secret, bool, error) {
		version, pinned := rel.Pins[key]
		if !pinned {
			return secrets.Secret{}, false, nil
		}
		value, _, err := p.vault.Get(ctx, secrets.Ref{Tenant: rec.Request.TenantID, Key: key}, version)
		if errors.Is(err, secrets.ErrNotFound) {
			return value, false, &failure{o.service, provider.ReasonSecretMissing, fmt.Sprintf("secret %s has no value of version %d", key, version)}
		}
		return value, true, err
	}
	for _, ref := range o.spec.Secrets {
		value, ok, err := get(ref.Key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		switch ref.EffectiveType() {
		case secrets.SecretEnv:
			o.env[ref.EnvName()] = value.RevealString()
		case secrets.SecretFile:
			if err := o.file(ref.MountPath(), value.Reveal(), secretMode); err != nil {
				return err
			}
		}
	}
	for _, f := range o.spec.ConfigFiles {
		value, _, err := get(f.Key)
		if err != nil {
			return err
		}
		if err := o.file(f.Path, value.Reveal(), configMode); err != nil {
			return err
		}
	}
	return nil
}

// problem says why a group is not ready yet.
func (m members) problem() (service, text string) {
	for _, spec := range m.services {
		s, ok := m.find(spec.Name)
		switch {
		case !ok:
			text = cmp.Or(text, spec.Name+" has not started")
		case s.good(spec):
		case s.waitsFor != "":
			return spec.Name, waitsText(s.waitsFor)
		case s.health.problem != "":
			return spec.Name, spec.Name + ": " + s.health.problem
		default:
			service, text = spec.Name, spec.Name+" is on its way"
		}
	}
	return service, strings.TrimSpace(text)
}
