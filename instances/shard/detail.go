package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/localdb"
)

// ErrSeveral: a text begins the ids of several machines.
var ErrSeveral = errors.New("several machines have such an id")

// Detail is all that is known of a machine.
type Detail struct {
	Machine
	// Current: it is made of what its group is made of now.
	Current bool
	// DeleteReason is why its record says that it goes.
	DeleteReason string
	Tags         map[string]string
	Vars         map[string]string
	Events       []Event // the oldest first
}

// Find is the id of the one machine whose id begins with a text. Errors: ErrNotLeading,
// ErrSeveral, instances.ErrInstanceNotFound.
func (s *Shard) Find(ctx context.Context, text string) (string, error) {
	all, err := s.Machines(ctx, true)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range all {
		if all[i].ID == text {
			return text, nil
		}
		if text != "" && strings.HasPrefix(all[i].ID, text) {
			found = append(found, all[i].ID)
		}
	}
	switch len(found) {
	case 0:
		return "", missing{fmt.Sprintf("there is no machine whose id begins with %q", text), instances.ErrInstanceNotFound}
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w: %s", ErrSeveral, strings.Join(found[:min(len(found), 5)], ", "))
}

// Machine is everything about one machine, also about one that was deleted lately.
// Errors: ErrNotLeading, instances.ErrInstanceNotFound.
func (s *Shard) Machine(ctx context.Context, instanceID string) (*Detail, error) {
	if err := s.leading(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	a, err := s.readAsk(ctx, instanceID)
	if err != nil && !errors.Is(err, instances.ErrInvalidRequest) {
		return nil, err
	}
	row, err := s.db.Instance(ctx, instanceID)
	switch {
	case errors.Is(err, localdb.ErrNotFound) && a != nil && a.Verb == verbCreate:
		return &Detail{Machine: asked(a), Vars: a.Vars, Events: s.history.events(instanceID)}, nil
	case errors.Is(err, localdb.ErrNotFound):
		return nil, noMachine(instanceID)
	case err != nil:
		return nil, err
	}
	d := &Detail{Machine: s.machine(&row, a), Tags: row.Tags, Current: s.current(&row)}
	r, err := s.Manager.Record(ctx, row.Tenant, row.ID)
	if err != nil && !errors.Is(err, instances.ErrInstanceNotFound) {
		return nil, err
	}
	d.Events = append(moments(&row, r), s.history.events(instanceID)...)
	if r != nil {
		d.DeleteReason = r.DeleteReason
		if r.Config != nil {
			d.Vars = r.Config.Vars
		}
	}
	slices.SortStableFunc(d.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	return d, nil
}

// current reports whether a machine is made of what its group is made of. What is not
// known is no difference.
func (s *Shard) current(row *localdb.Instance) bool {
	merged, err := s.opts.Loader.Merge(config.MergeRequest{Tenant: row.Tenant, Group: row.Group})
	return err != nil || row.InfraConfigHash == "" || merged.InfraHash == row.InfraConfigHash
}

// moments are what a record says of a machine's life.
func moments(row *localdb.Instance, r *instances.InstanceRecord) []Event {
	var all []Event
	add := func(at *time.Time, kind, text string) {
		if at != nil && !at.IsZero() {
			all = append(all, Event{At: *at, Kind: kind, Text: text, Times: 1})
		}
	}
	add(&row.CreatedAt, "created", "its record was written")
	add(&row.ProviderAt, "launched", "by the provider's clock")
	add(&row.RegisteredAt, "registered", "its agent showed its token and has a certificate")
	if r != nil {
		add(r.DeleteRequestedAt, "deleting", r.DeleteReason)
		add(r.DeletedAt, "deleted", "the provider says that it is gone")
	} else {
		add(&row.DeletedAt, "deleted", "")
	}
	return all
}
