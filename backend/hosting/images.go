package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// Bounds of what images declare, so that the record of a lease's volumes has one.
const (
	maxPaths = 16 // of an image
	maxSlots = 64 // of a lease, of all manifests that it ever had
)

// declared is what the images of a manifest declare, as far as it is known.
type declared struct {
	pending bool
	said    string // of what is pending
	failure *failure
	paths   map[string][]string // by service
}

// inspect asks what the images declare of the services that a lease has. It is asked
// once for each operation: what was found is noted in the row.
func (h *Hosting) inspect(ctx context.Context, r *row, w *world) error {
	inspector, can := h.cfg.Provider.(provider.ImageInspector)
	if !can || r.Op.Paths != nil {
		return nil
	}
	found := map[string]*provider.ImageInfo{}
	w.declared = &declared{paths: map[string][]string{}}
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		ref := w.stack.Services[name].Image
		if _, asked := found[ref]; !asked {
			info, err := h.inspectOne(ctx, inspector, ref)
			switch {
			case errors.Is(err, provider.ErrPending):
				w.declared.pending, w.declared.said = true, err.Error() // the others are fetched meanwhile
			case errors.Is(err, provider.ErrImageUnavailable):
				w.declared.failure = &failure{backend.ReasonImagePullFailed, pullFailed, bounded(err.Error())}
				return nil
			case err != nil:
				return fmt.Errorf("inspect the image of service %s: %w", name, err)
			case len(info.Volumes) > maxPaths:
				w.declared.failure = &failure{Reason: backend.ReasonInternal, Message: fmt.Sprintf("the image declares %d volumes, the most is %d", len(info.Volumes), maxPaths)}
				return nil
			}
			found[ref] = info
		}
		if info := found[ref]; info != nil {
			w.declared.paths[name] = info.Volumes
		}
	}
	return nil
}

func (h *Hosting) inspectOne(ctx context.Context, inspector provider.ImageInspector, ref string) (*provider.ImageInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Timing.Call)
	defer cancel()
	return inspector.InspectImage(ctx, ref)
}

// planImages notes what the images declare, and then the volumes that are to be for it.
// It is nil when both are noted; failed is why the operation cannot go on.
func planImages(r *row, w *world) (p *plan, failed *failure) {
	switch d := w.declared; {
	case d == nil:
	case d.failure != nil:
		return nil, d.failure
	case d.pending && !w.now.Before(r.Op.Deadline):
		return nil, &failure{backend.ReasonImagePullFailed, pullFailed + ": it was not there in time", bounded(d.said)}
	case d.pending:
		return &plan{wait: sooner(w.timing.Recheck, w.again)}, nil
	default:
		next := r.clone()
		next.Op.Paths = d.paths
		return &plan{next: next}, nil
	}
	added, short := missingSlots(r, w)
	switch {
	case added == 0 && !short:
		return nil, nil
	case slotsOf(w.set)+added > maxSlots:
		return nil, &failure{Reason: backend.ReasonInternal, Message: fmt.Sprintf("the images of the lease declare more than %d volumes", maxSlots)}
	}
	return &plan{effects: []effect{{verb: doOwn}}}, nil
}

// kept are the directories of a service that have volumes: what its image declares,
// where its tier has a disk and nothing else is mounted there. A directory that is in
// memory for every container, or by the manifest, stays in memory.
func (r *row) kept(w *world, service string) []string {
	if r.Op == nil || r.Set == "" || w.disks[service] == 0 {
		return nil
	}
	var out []string
	for _, path := range r.Op.Paths[service] {
		if !w.stack.Services[service].InMemory(path) {
			out = append(out, path)
		}
	}
	return out
}

// missingSlots counts the directories that have no volumes yet, and says whether one has
// too few.
func missingSlots(r *row, w *world) (missing int, short bool) {
	for name := range r.Workloads {
		for _, path := range r.kept(w, name) {
			switch at := w.set.slot(name, path); {
			case at < 0:
				missing++
			case w.set.Slots[at].Count < r.item(name).Quantity:
				short = true
			}
		}
	}
	return missing, short
}

func slotsOf(s *set) int {
	if s == nil {
		return 0
	}
	return len(s.Slots)
}
