package netns

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
	if os.Geteuid() != 0 {
		return nil, invalid("machines of namespaces need root")
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

// CreateInstance implements infra.Provider.
func (p *Provider) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	if err := p.check(ctx, req); err != nil {
		return nil, err
	}
	f := p.folder(req.InstanceID)
	if _, err := f.read(); errors.Is(err, fs.ErrNotExist) {
		// Nothing is made of what can never work.
		if _, err := p.accept(req); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	unlock, err := f.lockNew(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		r, err = p.reserve(ctx, f, req)
	}
	switch {
	case err != nil:
		return nil, err
	case !p.owns(r, req.InstanceID) || r.Tags[infra.TagRequest] != req.Digest():
		return nil, fmt.Errorf("%w: it has a machine of another request", infra.ErrConflict)
	case !r.DeletedAt.IsZero():
		return nil, fmt.Errorf("%w: its machine is being deleted", infra.ErrConflict)
	}
	if err := p.build(ctx, f, r, req); err != nil {
		return nil, fmt.Errorf("%w: make machine %s: %w", infra.ErrAmbiguous, r.ProviderID, err)
	}
	return p.seen(f, r), nil
}

func (p *Provider) check(ctx context.Context, req infra.CreateInstanceRequest) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := req.Validate(); err != nil {
		return err
	}
	return p.owner.Check(req.Owner())
}

// DeleteInstance implements infra.Provider. The provider's id is not needed.
func (p *Provider) DeleteInstance(ctx context.Context, instanceID, _ string) error {
	f, err := p.find(ctx, instanceID)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := f.read() // and whether that is an answer
		return ignoreMissing(err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := f.read()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.clearUnused()
		return nil
	case err != nil:
		return err
	case !p.owns(r, instanceID):
		return nil
	}
	if r.DeletedAt.IsZero() {
		r.DeletedAt = p.now().UTC()
		err := p.before("mark")
		if err == nil {
			err = f.write(r)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
		}
	}
	if _, err := p.remove(ctx, f, r, patience); err != nil {
		return fmt.Errorf("%w: delete machine %s: %w", infra.ErrAmbiguous, r.ProviderID, err)
	}
	return nil
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
		return p.seen(f, r), nil
	}
	gone, err := p.goOn(ctx, f, instanceID)
	if err != nil {
		p.logger.WarnContext(ctx, "a machine is not removed yet", "machine", r.ProviderID, "error", err)
	}
	if gone {
		return nil, infra.ErrInstanceNotFound
	}
	return p.seen(f, r), nil
}

// goOn takes a removal further, unless another call does.
func (p *Provider) goOn(ctx context.Context, f folder, instanceID string) (gone bool, err error) {
	unlock, err := tryLock(f.path)
	switch {
	case errors.Is(err, errLocked):
		return false, nil
	case err != nil:
		return false, ignoreMissing(err)
	}
	defer unlock()
	r, err := f.read()
	if err != nil || !p.owns(r, instanceID) || r.DeletedAt.IsZero() {
		return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
	}
	return p.remove(ctx, f, r, 0)
}

// CheckSubnetCapacity implements infra.Provider.
func (p *Provider) CheckSubnetCapacity(ctx context.Context, subnetID string) (bool, error) {
	pool, err := p.config.pool(subnetID)
	if err != nil {
		return false, err
	}
	used, err := p.usedLinks(ctx)
	if err != nil {
		return false, err
	}
	_, room := freeLink(pool, used, 0)
	return room, nil
}
