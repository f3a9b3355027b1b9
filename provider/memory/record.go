package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// record is what is wanted of an instance. The contents of config files are in the
// vault, under keys that the record has.
type record struct {
	Request  provider.ProvisionRequest `json:"request"`
	Rollout  *provider.RolloutSpec     `json:"rollout,omitempty"`
	Releases []*release                `json:"releases"`

	// Served are the releases in the order in which they began to serve.
	Served []id.ID `json:"served,omitempty"`

	// Target is what was asked for last, Serving what serves. A turn counts how
	// often releases were begun; containers bear it.
	Target      id.ID `json:"target"`
	Turn        int   `json:"turn"`
	Turns       int   `json:"turns"` // ever begun
	Serving     id.ID `json:"serving,omitzero"`
	ServingTurn int   `json:"serving_turn,omitempty"`

	Strategy string    `json:"strategy,omitempty"`
	Since    time.Time `json:"since"`
	Failure  *failure  `json:"failure,omitempty"`

	Replicas int `json:"replicas"`

	// Sizes are those of main, by release, where Scale made it another.
	Sizes map[string]provider.ResourceSpec `json:"sizes,omitempty"`

	Stopped  bool `json:"stopped,omitempty"`
	Removing bool `json:"removing,omitempty"`

	version provider.Version
	calm    bool // a pass found nothing to do
}

// release is one state of all services. It never changes, but for its pins.
type release struct {
	ID       id.ID                  `json:"id"`
	Services []provider.ServiceSpec `json:"services"`

	// Request is the deploy that made it, to know its repetition.
	Request []provider.ServiceDeploySpec `json:"request,omitempty"`

	// Pins are the versions of the secrets, by key, from when its first container
	// was made on.
	Pins   map[string]secrets.Version `json:"pins,omitempty"`
	Pinned bool                       `json:"pinned,omitempty"`
	Good   bool                       `json:"good,omitempty"` // it served
}

// failure is why a release does not serve.
type failure struct {
	Service string          `json:"service,omitempty"`
	Reason  provider.Reason `json:"reason"`
	Message string          `json:"message"`
}

// Error makes a failure what a pass returns when waiting does not help.
func (f *failure) Error() string { return string(f.Reason) + ": " + f.Message }

func (r *record) release(release id.ID) *release {
	for _, rel := range r.Releases {
		if rel.ID == release {
			return rel
		}
	}
	return nil
}

// rolling reports whether the target is on its way.
func (r *record) rolling() bool {
	return r.Failure == nil && (r.Target != r.Serving || r.Turn != r.ServingTurn)
}

// main is the main service of a list.
func mainOf(services []provider.ServiceSpec) *provider.ServiceSpec {
	for i := range services {
		if services[i].EffectiveRole() == provider.RoleMain {
			return &services[i]
		}
	}
	return nil
}

// services are those of a release, in the size that is wanted now.
func (r *record) services(release id.ID) []provider.ServiceSpec {
	rel := r.release(release)
	if rel == nil {
		return nil
	}
	out := provider.CloneServices(rel.Services)
	if size, scaled := r.Sizes[release.String()]; scaled {
		m := mainOf(out)
		m.Resources.CPUMillis, m.Resources.MemoryMB, m.Resources.DiskMB = size.CPUMillis, size.MemoryMB, size.DiskMB
	}
	return out
}

func recordKey(instance id.ID) string { return "instances/" + instance.String() }

// load reads the record of an instance; provider.ErrNotFound says that there is
// none.
func (p *Provider) load(ctx context.Context, instance id.ID) (*record, error) {
	if instance.IsNil() {
		return nil, fmt.Errorf("%w: no instance is named", provider.ErrNotFound)
	}
	if _, err := p.wire.ask(ctx, read, "read the record of "+instance.String()); err != nil {
		return nil, err
	}
	stored, err := p.store.Get(ctx, recordKey(instance))
	if err != nil {
		return nil, fmt.Errorf("read the record of instance %s: %w", instance, err)
	}
	rec := &record{version: stored.Version}
	if err := json.Unmarshal(stored.Value, rec); err != nil {
		return nil, fmt.Errorf("read the record of instance %s: %w", instance, err)
	}
	return rec, nil
}

// save writes the record.
func (p *Provider) save(ctx context.Context, rec *record) error {
	value, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write the record of instance %s: %w", rec.Request.InstanceID, err)
	}
	return p.wire.do(ctx, "write the record of "+rec.Request.InstanceID.String(), func() error {
		version, err := p.store.Put(ctx, recordKey(rec.Request.InstanceID), value, rec.version)
		if err == nil {
			rec.version = version
		}
		return err
	})
}

// known is load for the methods that change an instance: without a record it
// tells what is there without one from what is not there at all.
func (p *Provider) known(ctx context.Context, instance id.ID) (*record, error) {
	rec, err := p.load(ctx, instance)
	if !errors.Is(err, provider.ErrNotFound) {
		return rec, err
	}
	all, lookErr := p.look(ctx, instance)
	if lookErr != nil {
		return nil, lookErr
	}
	if len(all) > 0 {
		return nil, fmt.Errorf("%w: instance %s", provider.ErrNoRecord, instance)
	}
	return nil, fmt.Errorf("%w: instance %s", provider.ErrNotFound, instance)
}

// look is what there is of an instance.
func (p *Provider) look(ctx context.Context, instance id.ID) ([]seen, error) {
	lie, err := p.wire.ask(ctx, look, "look at the containers of "+instance.String())
	if err != nil {
		return nil, err
	}
	var out []seen
	for _, o := range p.cluster.of(instance) {
		out = append(out, o.look())
	}
	if lie && len(out) > 0 {
		out = slices.Delete(out, 0, 1)
	}
	return out, nil
}
