package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// planned is a plan with what it takes to carry it out.
type planned struct {
	plan   wire.Plan
	change store.Change
	volume func(app, volume string) string // the engine's name of a volume
	// secrets are the newest versions of secrets, as far as they were asked for.
	secrets map[string]int64
}

// planApply compares what a file asks for with what the store holds.
func (s *Server) planApply(st *appState, app *spec.App, refresh bool) planned {
	p := s.newPlanned(st, store.AttemptApply)
	names := slices.Sorted(maps.Keys(app.Services))
	for _, name := range st.names() {
		if _, ok := app.Services[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		wanted, keep := app.Services[name]
		current, exists := st.services[name]
		switch {
		case !keep:
			p.remove(current)
		case !exists:
			p.create(&wanted)
		default:
			p.update(current, &wanted, refresh)
		}
	}
	if len(s.deps.Listeners()) == 0 {
		p.waitForPlane(app)
	}
	return p.finish()
}

// waitForPlane says beside every change of a routed service that it will not
// end before the data plane serves.
func (p *planned) waitForPlane(app *spec.App) {
	for i := range p.plan.Services {
		step := &p.plan.Services[i]
		if wanted, ok := app.Services[step.Service]; ok && len(wanted.Domains) > 0 && step.Action != wire.ActionUnchanged {
			step.Notices = append(step.Notices, "the data plane does not serve now, and the change waits for it; `berth doctor` says why")
		}
	}
}

// planDelete plans the removal of an app.
func (s *Server) planDelete(st *appState) planned {
	p := s.newPlanned(st, store.AttemptDelete)
	p.change.DeleteApp = true
	for _, name := range st.names() {
		p.remove(st.services[name])
	}
	p.plan.Changes = !st.app.Deleting
	return p.finish()
}

// planRollback plans that a service run a release of its own again. What no
// release records for good, because it changes without one, stays as it is:
// replicas, routes, labels and the node.
func (s *Server) planRollback(st *appState, current serviceState, to *store.Release) planned {
	p := s.newPlanned(st, store.AttemptRollback)
	p.change.Expect = map[string]int64{current.desired.Name: current.desired.Generation}
	p.plan.Base = wire.Base(p.change.Expect)
	wanted := asWanted(to.Spec)
	now := &current.desired.Spec
	wanted.Domains, wanted.Path, wanted.Labels = now.Domains, now.Path, now.Labels
	wanted.Placement = now.Placement
	if !wanted.Exclusive() {
		wanted.Replicas = now.Replicas
	}

	step := p.step(wanted.Name, wire.ActionUpdate)
	step.Changes = append([]wire.FieldChange{{Field: "release", Old: wantedRelease(current), New: version(to.Version)}},
		fieldChanges(now, &wanted)...)
	if current.active != nil && current.active.ReleaseID != to.ID {
		step.Interrupts = interruptions(current.running(), &wanted)
		if len(step.Interrupts) == 0 { // the spec may be the same, the image is not
			step.Interrupts = handover(&wanted)
		}
	}
	if current.desired.ReleaseID == to.ID && !current.failed() {
		step.Action, step.Changes, step.Interrupts = wire.ActionUnchanged, nil, nil
	} else {
		d := desired(st.name, &wanted, &current.desired)
		d.ReleaseID, d.Image, d.Spec.Image = to.ID, to.Image, to.Image
		p.put(d, step.Action)
		step.Notices = append(step.Notices, "the app file is not touched; the next apply makes the app what it says")
	}
	p.plan.Services = append(p.plan.Services, step)
	return p.finish()
}

func (s *Server) newPlanned(st *appState, kind store.AttemptKind) *planned {
	base := st.base()
	return &planned{
		plan: wire.Plan{App: st.name, Services: []wire.ServicePlan{}, Base: base, OpenAttempt: st.openAttempt()},
		change: store.Change{
			AppID: st.name, Kind: kind, Actions: map[string]string{}, Expect: maps.Clone(base),
		},
		volume: s.deps.VolumeName, secrets: st.secrets,
	}
}

// newPartial begins a plan that concerns some services of an app: it depends on
// the generations of those alone.
func (s *Server) newPartial(st *appState, kind store.AttemptKind) *planned {
	p := s.newPlanned(st, kind)
	p.change.Expect = map[string]int64{}
	p.plan.Base = wire.Base{}
	return p
}

// expect makes the plan depend on a service as it is now.
func (p *planned) expect(current serviceState) {
	p.change.Expect[current.desired.Name] = current.desired.Generation
	p.plan.Base[current.desired.Name] = current.desired.Generation
}

// lightly settles whether a change that needs no new containers can do without:
// not while an earlier one, which did need some, has not come up. It would be
// forgotten, since what serves would be taken for what is wanted.
func (p *planned) lightly(step *wire.ServicePlan, current serviceState, wanted *spec.Service) {
	if step.Action != wire.ActionScale && step.Action != wire.ActionRoute {
		return
	}
	switch {
	case current.failed():
		step.Notices = append(step.Notices, "its last change failed, and is tried again with this one")
	case current.open() && !light(current.last):
		step.Notices = append(step.Notices, fmt.Sprintf("attempt %d on it still goes on; this one takes its place", current.last.AttemptID))
	default:
		return
	}
	step.Action = wire.ActionUpdate
	step.Interrupts = felt(current, wanted, true)
}

// freshSecrets makes new containers where those that serve run with older values
// of secrets than there are.
func (p *planned) freshSecrets(step *wire.ServicePlan, current serviceState, wanted *spec.Service) {
	if current.release == nil || current.open() {
		return
	}
	serving := current.release.Spec
	seen := map[string]bool{}
	for _, ref := range serving.SecretRefs() {
		newest := p.secrets[ref.Key]
		if seen[ref.Key] || newest <= ref.Version {
			continue
		}
		seen[ref.Key] = true
		step.Changes = append(step.Changes, wire.FieldChange{
			Field: "secret " + secretName(p.plan.App, ref.Key), Old: secretVersion(ref.Version), New: secretVersion(newest),
		})
	}
	switch step.Action {
	case wire.ActionUnchanged, wire.ActionScale, wire.ActionRoute:
		if len(seen) > 0 {
			step.Action, step.Interrupts = wire.ActionUpdate, felt(current, wanted, true)
		}
	case wire.ActionCreate, wire.ActionUpdate, wire.ActionRetry, wire.ActionRestart, wire.ActionDelete:
	}
}

// felt says how users feel that new containers of a service take over. same is
// for a change that the specs may not show, as where only the image is another.
func felt(current serviceState, wanted *spec.Service, same bool) []wire.Interruption {
	if current.active == nil {
		return nil
	}
	all := interruptions(current.running(), wanted)
	if len(all) == 0 && same {
		all = handover(wanted)
	}
	return all
}

func (p *planned) step(service string, action wire.Action) wire.ServicePlan {
	return wire.ServicePlan{Service: service, Name: spec.FullName(p.plan.App, service), Action: action}
}

func (p *planned) put(d store.DesiredService, action wire.Action) {
	p.change.Put = append(p.change.Put, d)
	p.change.Actions[d.Name] = string(action)
}

func (p *planned) create(wanted *spec.Service) {
	step := p.step(wanted.Name, wire.ActionCreate)
	step.Changes, step.Notices = fieldChanges(nil, wanted), notices(wanted)
	p.plan.Services = append(p.plan.Services, step)
	p.plan.Base[step.Name], p.change.Expect[step.Name] = 0, 0
	p.put(desired(p.plan.App, wanted, nil), step.Action)
}

func (p *planned) update(current serviceState, wanted *spec.Service, refresh bool) {
	now := &current.desired.Spec
	step := p.step(wanted.Name, changeAction(now, wanted))
	step.Changes = fieldChanges(now, wanted)
	ends := current.rolledBack()
	switch {
	case step.Action != wire.ActionUnchanged:
	case current.failed():
		step.Action = wire.ActionRetry
		step.Notices = append(step.Notices, "nothing changed, but the last attempt failed; it is tried again")
	case refresh && !pinnedImage(wanted.Image):
		step.Action = wire.ActionRetry
		step.Notices = append(step.Notices, "the image is looked up again; if the tag has moved, it is rolled out")
	case ends:
		step.Action = wire.ActionRoute
	}
	if !now.Placement.Equal(wanted.Placement) {
		step.Notices = append(step.Notices, placeNotice(now.Placement, wanted))
	}
	p.lightly(&step, current, wanted)
	p.freshSecrets(&step, current, wanted)
	if step.Action != wire.ActionUnchanged {
		d := desired(p.plan.App, wanted, &current.desired)
		if step.Action == wire.ActionUpdate || refresh || ends {
			d.ReleaseID = ""
		}
		if moves(now, wanted) {
			d.RestartNonce = nextRestart(d.RestartNonce)
		}
		p.put(d, step.Action)
	}
	if ends && step.Action == wire.ActionRoute && len(step.Changes) == 0 {
		step.Notices = append(step.Notices, fmt.Sprintf("it was rolled back to %s, which is what the file says: the rollback ends, and no container changes", store.VersionOf(current.active.ReleaseID)))
	}
	known := notices(now)
	for _, n := range notices(wanted) {
		if !slices.Contains(known, n) {
			step.Notices = append(step.Notices, n)
		}
	}
	if step.Action != wire.ActionUnchanged && len(step.Interrupts) == 0 {
		step.Interrupts = felt(current, wanted, step.Action == wire.ActionRetry)
	}
	p.plan.Services = append(p.plan.Services, step)
}

// moves reports whether a change says anew where a service may run. The containers that
// are there are replaced then, as by a restart: those of one content have one name, which
// no two nodes can have.
func moves(now, wanted *spec.Service) bool {
	return movable(wanted) && slices.ContainsFunc(spec.Diff(now, wanted), func(c spec.FieldChange) bool { return c.Effect == spec.EffectPlace })
}

func (p *planned) remove(current serviceState) {
	d := &current.desired
	step := p.step(d.Spec.Name, wire.ActionDelete)
	for _, v := range d.Spec.Volumes {
		if v.Name != "" {
			step.KeptVolumes = append(step.KeptVolumes, wire.KeptVolume{Name: v.Name, Engine: p.volume(p.plan.App, v.Name)})
		}
	}
	p.plan.Services = append(p.plan.Services, step)
	p.change.Delete = append(p.change.Delete, d.Name)
	p.change.Actions[d.Name] = string(wire.ActionDelete)
}

// finish sums the steps up.
func (p *planned) finish() planned {
	for _, s := range p.plan.Services {
		p.plan.Changes = p.plan.Changes || s.Action != wire.ActionUnchanged
		p.plan.Interrupts = p.plan.Interrupts || len(s.Interrupts) > 0
		p.plan.Removes = p.plan.Removes || s.Action == wire.ActionDelete
	}
	return *p
}

// desired is the row to write. What a file does not say is taken over.
func desired(app string, wanted *spec.Service, current *store.DesiredService) store.DesiredService {
	var d store.DesiredService
	if current != nil {
		d = *current
	}
	if d.Image != wanted.Image {
		d.LocalImageID = ""
	}
	d.Name, d.AppID = spec.FullName(app, wanted.Name), app
	d.Image, d.Spec, d.Replicas = wanted.Image, *wanted, wanted.Replicas
	return d
}

// notices are what the owner of a service should know about how it is declared.
func notices(s *spec.Service) []string {
	var out []string
	if wait := waitsFor(s.DependsOn); wait != "" {
		out = append(out, "it starts once "+wait)
	}
	switch {
	case s.Completes(): // its end is what counts
	case s.Port == 0 && s.Readiness != nil:
		out = append(out, "no port, so no route")
	case s.Port == 0:
		out = append(out, "no port, so no route: it counts as ready once it has started and stays up")
	case s.Readiness == nil:
		out = append(out, fmt.Sprintf("no readiness probe declared: a TCP check of port %d decides", s.Port))
	}
	if s.Port != 0 && len(s.Domains) == 0 && !s.Completes() {
		out = append(out, "no domain, so no route from outside: other services of the app reach it by name")
	}
	return out
}

// waitsFor says what a service waits for: "db is ready and migrate has
// completed", or nothing.
func waitsFor(dependencies []spec.Dependency) string {
	var parts []string
	for _, d := range dependencies {
		switch d.Condition {
		case spec.DependsStarted:
			parts = append(parts, d.Service+" has started")
		case spec.DependsCompleted:
			parts = append(parts, d.Service+" has completed")
		default:
			parts = append(parts, d.Service+" is ready")
		}
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// pinnedImage reports whether an image reference always means the same image.
func pinnedImage(ref string) bool { return strings.Contains(ref, "@sha256:") }

// wantedRelease is the release that the service shall run now, as far as one
// was written.
func wantedRelease(s serviceState) string {
	switch {
	case s.desired.ReleaseID != "":
		return store.VersionOf(s.desired.ReleaseID)
	case s.last != nil && s.last.State != store.AttemptSucceeded:
		return cmp.Or(store.VersionOf(s.last.ReleaseID), "none")
	case s.active != nil:
		return store.VersionOf(s.active.ReleaseID)
	}
	return "none"
}
