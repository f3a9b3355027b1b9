package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile/placement"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// Recovery is for how long a node counts as one that has only come back.
const Recovery = 30 * time.Second

// Location is where the passes of a service work.
type Location struct {
	Placement store.Placement
	Remote    bool // on any node but this machine
	// Away is a node that all of it is on and that is offline, "" when there is none; Since
	// is when it was last heard of.
	Away       string
	Since      time.Time
	Recovering bool // a node of it is back since a moment
}

// Locate is where a service runs. It is decided when there is a reason to, see the
// package. Errors: placement.ErrNoNode, which names each node and why it is none,
// placement.ErrAwaited, and those of the store.
func (n *Nodes) Locate(ctx context.Context, d *store.DesiredService) (Location, error) {
	p, err := n.opts.Store.PlacementOf(ctx, d.AppID)
	placed := err == nil
	switch {
	case errors.Is(err, store.ErrNotFound) && len(n.opts.Fleet.Members()) == 0 && d.Spec.Placement.Node == "" && len(d.Spec.Placement.Labels) == 0:
		return Location{Placement: store.Placement{AppID: d.AppID, Nodes: []string{""}}}, nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return Location{}, err
	}
	r, err := n.roster(ctx)
	if err != nil {
		return Location{}, err
	}
	anew, err := n.stuck(ctx, r, &p, d)
	if err != nil {
		return Location{}, err
	}
	if !placed || d.AttemptID > p.Attempt || anew || n.mustLeave(r, &p, d) {
		if p, err = n.decide(ctx, d, anew); err != nil {
			return Location{Placement: p}, err
		}
	}
	return n.locate(r, p), nil
}

// mustLeave reports whether an app has replicas on a node that is gone, or offline for
// long enough.
func (n *Nodes) mustLeave(r *roster, p *store.Placement, d *store.DesiredService) bool {
	return slices.ContainsFunc(p.Nodes, func(id string) bool {
		after, moves := spec.MovesAfter(&d.Spec)
		return r.gone(id) || moves && n.overdue(r, id, after)
	})
}

// stuck reports whether a change of a spread app cannot come up, as a node that it was
// spread over has gone offline since.
func (n *Nodes) stuck(ctx context.Context, r *roster, p *store.Placement, d *store.DesiredService) (bool, error) {
	if !d.Spec.Placement.Spread || d.AttemptID == 0 || d.AttemptID != p.Attempt ||
		!slices.ContainsFunc(p.Nodes, func(id string) bool { return n.unreachable(r, id) }) {
		return false, nil
	}
	a, err := n.opts.Store.GetAttempt(ctx, d.AttemptID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && slices.ContainsFunc(a.Services, func(s store.AttemptService) bool {
		return s.Service == d.Name && !s.State.Final()
	}), err
}

func (n *Nodes) locate(r *roster, p store.Placement) Location {
	l := Location{Placement: p}
	away := 0
	for _, id := range p.Nodes {
		l.Remote = l.Remote || id != ""
		since, offline := r.offline(id)
		if offline {
			away++
			l.Away, l.Since = id, since
		}
		if m, ok := r.members[id]; ok && m.Online && n.opts.Now().Sub(m.Since) < Recovery {
			l.Recovering = true
		}
	}
	if away < len(p.Nodes) {
		l.Away, l.Since = "", time.Time{}
	}
	return l
}

// decide places the app of a service, and writes where. anew is for a change that is placed
// once more.
func (n *Nodes) decide(ctx context.Context, d *store.DesiredService, anew bool) (store.Placement, error) {
	n.deciding.Lock()
	defer n.deciding.Unlock()
	p, err := n.opts.Store.PlacementOf(ctx, d.AppID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return p, err
	}
	services, err := n.opts.Store.ListDesiredServices(ctx, d.AppID)
	if err != nil {
		return p, err
	}
	r, err := n.roster(ctx)
	if err != nil {
		return p, err
	}
	w, attempt, volumes, err := n.want(ctx, d, &p, services)
	if err != nil {
		return p, err
	}
	w.Stay = w.Stay && !anew
	candidates, lost, err := n.candidates(ctx, r, &p, d.AppID, services)
	if err != nil {
		return p, err
	}
	at, err := placement.Place(w, candidates)
	if err != nil {
		return p, err
	}
	if err := n.noteVolumes(ctx, r, at, volumes); err != nil {
		return p, err
	}
	next := store.Placement{AppID: d.AppID, Nodes: at, Lost: n.givenUp(r, &p, at, lost), Attempt: attempt, UpdatedAt: n.opts.Now()}
	if slices.Equal(next.Nodes, p.Nodes) && slices.Equal(next.Lost, p.Lost) && next.Attempt == p.Attempt {
		return p, nil
	}
	if err := n.opts.Store.SavePlacement(ctx, next); err != nil {
		return p, err
	}
	if !slices.Equal(next.Nodes, p.Nodes) && len(p.Nodes) > 0 {
		n.opts.Logger.InfoContext(ctx, "an app is placed anew", "app", d.AppID, "nodes", next.Nodes, "before", p.Nodes)
		n.wakeOthers(d.Name, services)
	}
	return next, nil
}

func (n *Nodes) wakeOthers(but string, services []store.DesiredService) {
	for i := range services {
		if services[i].Name != but {
			n.opts.Wake(services[i].Name)
		}
	}
}

// want is what an app asks for, its newest attempt and its volumes.
func (n *Nodes) want(ctx context.Context, d *store.DesiredService, p *store.Placement, services []store.DesiredService) (w placement.Want, attempt int64, volumes []string, err error) {
	pl := d.Spec.Placement
	w = placement.Want{App: d.AppID, Node: pl.Node, Labels: pl.Labels, Spread: pl.Spread, Has: p.Nodes}
	attempt = max(p.Attempt, d.AttemptID)
	serves := false
	for i := range services {
		s := &services[i]
		w.Replicas = max(w.Replicas, s.Replicas)
		attempt = max(attempt, s.AttemptID)
		for _, v := range s.Spec.Volumes {
			if v.Name != "" {
				volumes = append(volumes, d.AppID+"/"+v.Name)
			}
		}
		if len(p.Nodes) == 0 && !serves {
			_, err := n.opts.Store.GetActiveRelease(ctx, s.Name)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return w, 0, nil, err
			}
			serves = err == nil
		}
	}
	if serves { // since before there were other nodes
		w.Has = []string{""}
	}
	if len(volumes) > 0 {
		slices.Sort(volumes)
		volumes = slices.Compact(volumes)
		w.Fixed = "it has data in " + strings.Join(volumes, ", ") + " there"
	}
	w.Stay = len(p.Nodes) > 0 && attempt == p.Attempt
	return w, attempt, volumes, nil
}

// candidates are the nodes as one app may see them; lost are those that it has to leave.
func (n *Nodes) candidates(ctx context.Context, r *roster, p *store.Placement, app string, services []store.DesiredService) (all []placement.Node, lost map[string]bool, err error) {
	load, err := n.load(ctx, app)
	if err != nil {
		return nil, nil, err
	}
	after, moves := movesAfter(services)
	lost = map[string]bool{}
	add := func(id string, c placement.Node) {
		row := r.rows[id]
		switch {
		case !row.DrainingSince.IsZero():
			c.Closed, c.Leave = "it is being drained", true
		case row.Cordoned:
			c.Closed = "it is cordoned"
		}
		c.ID, c.Load, c.Lost = id, load[id], moves && n.overdue(r, id, after)
		lost[id] = c.Lost
		all = append(all, c)
	}
	add("", placement.Node{Name: spec.LocalNode, Online: true})
	for id, m := range r.members {
		if m.Gone {
			continue
		}
		add(id, placement.Node{Name: cmp.Or(m.Name, id), Labels: m.Labels, Online: m.Online, Awaited: n.awaited(r, id)})
	}
	for _, id := range p.Nodes {
		if _, joined := r.members[id]; !joined && id != "" {
			add(id, placement.Node{Awaited: n.awaited(r, id)})
		}
	}
	return all, lost, nil
}

// movesAfter is spec.MovesAfter of an app's services.
func movesAfter(services []store.DesiredService) (time.Duration, bool) {
	specs := make([]*spec.Service, len(services))
	for i := range services {
		specs[i] = &services[i].Spec
	}
	return spec.MovesAfter(specs...)
}

// load counts the replicas of the other apps that are placed on each node.
func (n *Nodes) load(ctx context.Context, but string) (map[string]int, error) {
	placements, err := n.opts.Store.ListPlacements(ctx)
	if err != nil {
		return nil, err
	}
	services, err := n.opts.Store.ListDesiredServices(ctx, "")
	if err != nil {
		return nil, err
	}
	at := map[string][]string{}
	for _, p := range placements {
		at[p.AppID] = p.Nodes
	}
	load := map[string]int{}
	for i := range services {
		s := &services[i]
		on := at[s.AppID]
		if s.AppID == but || s.Suspended || s.Stopped || len(on) == 0 {
			continue
		}
		for replica := range s.Replicas {
			load[on[replica%len(on)]]++
		}
	}
	return load, nil
}

// givenUp are the nodes whose containers of the app count no more: what was given up
// before and is not back yet, and what is left now as it is lost.
func (n *Nodes) givenUp(r *roster, p *store.Placement, at []string, lost map[string]bool) []string {
	out := slices.DeleteFunc(slices.Clone(p.Lost), func(id string) bool { return r.gone(id) || slices.Contains(at, id) })
	for _, id := range p.Nodes {
		if lost[id] && !slices.Contains(at, id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// NoNode words that an app has no node, for a condition.
func NoNode(err error) string {
	return fmt.Sprintf("%v; `berth node list` shows all of them", err)
}
