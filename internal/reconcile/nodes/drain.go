package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// ErrUnknownNode: no machine of that id has joined.
var ErrUnknownNode = errors.New("no such node")

// Stay is an app that a drain does not move, and why.
type Stay struct{ App, Why string }

// DrainPlan is what a drain does.
type DrainPlan struct {
	Moves []string // apps
	Stays []Stay
}

// SetCordon closes a node for what is new, or opens it again.
func (n *Nodes) SetCordon(ctx context.Context, id string, on bool) error {
	return n.change(ctx, id, func(row *store.Node) { row.Cordoned = on })
}

// Drain begins to empty a node: apps without volumes move, as by a restart. It goes on
// by itself, also after a restart of the control plane. A zero deadline is none.
func (n *Nodes) Drain(ctx context.Context, id string, by time.Time) (DrainPlan, error) {
	err := n.change(ctx, id, func(row *store.Node) {
		if row.DrainingSince.IsZero() {
			row.DrainingSince = n.opts.Now()
		}
		row.DrainBy = by
	})
	if err != nil {
		return DrainPlan{}, err
	}
	plan, err := n.On(ctx, id)
	if err != nil {
		return plan, err
	}
	return plan, n.moveAll(ctx, plan.Moves)
}

// Undrain ends a drain: what has moved stays where it is.
func (n *Nodes) Undrain(ctx context.Context, id string) error {
	return n.change(ctx, id, func(row *store.Node) { row.DrainingSince, row.DrainBy = time.Time{}, time.Time{} })
}

func (n *Nodes) change(ctx context.Context, id string, change func(*store.Node)) error {
	n.deciding.Lock()
	defer n.deciding.Unlock()
	r, err := n.roster(ctx)
	if err != nil {
		return err
	}
	if _, joined := r.members[id]; id != "" && !joined || r.gone(id) {
		return fmt.Errorf("%w: %s", ErrUnknownNode, id)
	}
	return n.save(ctx, r, id, change)
}

// note changes what is kept of a node, whoever knows it.
func (n *Nodes) note(ctx context.Context, id string, change func(*store.Node)) error {
	n.deciding.Lock()
	defer n.deciding.Unlock()
	r, err := n.roster(ctx)
	if err != nil {
		return err
	}
	return n.save(ctx, r, id, change)
}

func (n *Nodes) save(ctx context.Context, r *roster, id string, change func(*store.Node)) error {
	row := r.rows[id]
	row.ID = id
	change(&row)
	return n.opts.Store.SaveNode(ctx, row)
}

// On says which apps are placed on a node, and whether they can leave it.
func (n *Nodes) On(ctx context.Context, id string) (plan DrainPlan, err error) {
	placements, err := n.opts.Store.ListPlacements(ctx)
	if err != nil {
		return plan, err
	}
	for _, p := range placements {
		if !slices.Contains(p.Nodes, id) {
			continue
		}
		services, err := n.opts.Store.ListDesiredServices(ctx, p.AppID)
		if err != nil {
			return plan, err
		}
		if len(services) == 0 {
			continue // it is being deleted
		}
		w, attempt, _, err := n.want(ctx, &services[0], &p, services)
		switch {
		case err != nil:
			return plan, err
		case w.Fixed != "":
			plan.Stays = append(plan.Stays, Stay{p.AppID, w.Fixed})
		case w.Node != "":
			plan.Stays = append(plan.Stays, Stay{p.AppID, "its file asks for this node"})
		case attempt > p.Attempt: // a change is on its way, and places it anew
		default:
			plan.Moves = append(plan.Moves, p.AppID)
		}
	}
	return plan, nil
}

func (n *Nodes) moveAll(ctx context.Context, apps []string) error {
	var failed []error
	for _, app := range apps {
		if err := n.opts.Move(ctx, app); err != nil {
			failed = append(failed, fmt.Errorf("move app %s: %w", app, err))
		}
	}
	return errors.Join(failed...)
}

// Drained reports whether nothing of ours runs on a node any more.
func (n *Nodes) Drained(ctx context.Context, id string) (bool, error) {
	containers, _, err := n.opts.Fleet.Holds(ctx, id)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(containers, func(s docker.ContainerState) bool { return s.Running() }), nil
}

// Holds says what would be lost with a node, "" for nothing.
func (n *Nodes) Holds(ctx context.Context, id string) (string, error) {
	plan, err := n.On(ctx, id)
	if err != nil {
		return "", err
	}
	var why []string
	for _, s := range plan.Stays {
		why = append(why, fmt.Sprintf("app %s: %s", s.App, s.Why))
	}
	if len(why) > 0 {
		return strings.Join(why, "; "), nil
	}
	volumes, err := n.volumes(ctx, id)
	if err != nil || len(volumes) == 0 {
		return "", err
	}
	return fmt.Sprintf("volumes are on it that no app uses: %s", strings.Join(volumes, ", ")), nil
}

// volumes are those with data that are on a node, or may be: one that cannot be asked has
// what it had when it could be.
func (n *Nodes) volumes(ctx context.Context, id string) ([]string, error) {
	_, there, err := n.opts.Fleet.Holds(ctx, id)
	if err == nil {
		return dataVolumes(there), nil
	}
	if !docker.IsUnavailable(err) {
		return nil, err
	}
	r, rerr := n.roster(ctx)
	if rerr != nil {
		return nil, rerr
	}
	row := r.rows[id]
	if row.CheckedAt.IsZero() {
		return nil, fmt.Errorf("it was never seen what is on it: %w", err)
	}
	return row.Volumes, nil
}

// dataVolumes are the names of those volumes that more is in than the files of a
// container, which are made anew with it.
func dataVolumes(all []docker.Volume) []string {
	var out []string
	for _, v := range all {
		if v.Labels[docker.LabelFiles] == "" {
			out = append(out, v.Name)
		}
	}
	slices.Sort(out)
	return out
}

// noteVolumes keeps, before they are made, that an app's volumes may be on its nodes.
func (n *Nodes) noteVolumes(ctx context.Context, r *roster, on, names []string) error {
	for _, id := range on {
		row := r.rows[id]
		have := len(row.Volumes)
		for _, name := range names {
			if !slices.Contains(row.Volumes, name) {
				row.Volumes = append(row.Volumes, name)
			}
		}
		if len(row.Volumes) == have || id == "" {
			continue
		}
		row.ID = id
		if err := n.opts.Store.SaveNode(ctx, row); err != nil {
			return err
		}
	}
	return nil
}

// check keeps what is on a node that can be asked. What was noted meanwhile stays for the
// next look.
func (n *Nodes) check(ctx context.Context, id string, before store.Node) error {
	_, there, err := n.opts.Fleet.Holds(ctx, id)
	if err != nil {
		return err
	}
	now := dataVolumes(there)
	if !before.CheckedAt.IsZero() && slices.Equal(now, before.Volumes) {
		return nil
	}
	return n.note(ctx, id, func(row *store.Node) {
		if slices.Equal(row.Volumes, before.Volumes) {
			row.Volumes, row.CheckedAt = now, n.opts.Now()
		}
	})
}
