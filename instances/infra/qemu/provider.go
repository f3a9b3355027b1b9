package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Provider makes the machines of one owner. It holds nothing that is not in the
// folder: any number of them, in any number of processes, may be open for one Dir.
type Provider struct {
	owner  infra.Owner
	config Config
	// home is the folder of the owner's machines.
	home   string
	logger *slog.Logger
	now    func() time.Time
	// before is called with the name of every effect of a create or a delete; an
	// error ends the call there, as a crash does. Tests set it.
	before func(effect string) error
}

var (
	_ infra.Provider = (*Provider)(nil)
	_ infra.OpenFunc = Open
)

// New opens a provider for o.Owner. The region, the zone and the settings of o are
// not looked at. It makes the folders, and no machine.
func New(o infra.Options, c Config) (*Provider, error) {
	c = c.withDefaults()
	if err := errors.Join(o.Owner.Validate(), c.validate()); err != nil {
		return nil, err
	}
	p := &Provider{
		owner: o.Owner, config: c, logger: o.Logger, now: o.Now,
		home: filepath.Join(c.Dir, o.Owner.ClusterID+"."+o.Owner.Shard),
	}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.before = func(string) error { return nil }
	if err := os.MkdirAll(p.home, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the machines: %w", err)
	}
	return p, nil
}

// Kind implements infra.Provider.
func (*Provider) Kind() string { return Kind }

// owns reports whether a record is of this owner's machine of that instance, made
// by this provider. Only then is anything it names touched.
func (p *Provider) owns(r record, instanceID string) bool {
	prefix := idPrefix + ownerHash(p.owner) + "-"
	return p.owner.Is(r.Tags, instanceID) && r.InstanceID == instanceID &&
		strings.HasPrefix(r.ProviderID, prefix) && len(r.ProviderID) == len(prefix)+8
}

// find checks what is asked for and names its folder.
func (p *Provider) find(ctx context.Context, instanceID string) (folder, error) {
	if err := ctx.Err(); err != nil {
		return folder{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := infra.CheckInstanceID(instanceID); err != nil {
		return folder{}, err
	}
	return p.folder(instanceID), nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// GetInstanceStatus implements infra.Provider. The provider's id is not needed. Of
// a machine that goes it removes what can go by now.
func (p *Provider) GetInstanceStatus(ctx context.Context, instanceID, _ string) (*infra.Instance, error) {
	f, err := p.find(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	r, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, infra.ErrInstanceNotFound
	case err != nil:
		return nil, err
	case !p.owns(r, instanceID):
		return nil, infra.ErrInstanceNotFound
	case r.DeletedAt.IsZero():
		return p.seen(ctx, f, r), nil
	}
	gone, err := p.goOn(ctx, f, instanceID)
	if err != nil {
		p.logger.WarnContext(ctx, "a machine is not removed yet", "machine", r.ProviderID, "error", err)
	}
	if gone {
		return nil, infra.ErrInstanceNotFound
	}
	return p.seen(ctx, f, r), nil
}

// CheckSubnetCapacity implements infra.Provider: there is room while the owner has
// fewer machines than it may have.
func (p *Provider) CheckSubnetCapacity(ctx context.Context, subnetID string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if _, err := p.config.network(subnetID); err != nil {
		return false, err
	}
	n, err := p.count()
	return n < p.config.MaxMachines, err
}

// count is how many folders of machines there are.
func (p *Provider) count() (int, error) {
	entries, err := os.ReadDir(p.home)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	n := 0
	for _, e := range entries {
		if infra.CheckInstanceID(e.Name()) == nil {
			n++
		}
	}
	return n, nil
}
