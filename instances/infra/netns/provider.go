package netns

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// Provider makes the machines of one owner. It holds nothing that is not in the
// folder: any number of them, in any number of processes, may be open for one Dir.
type Provider struct {
	config Config
	host   *hostdir.Machines[record, *record]
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
	p := &Provider{config: c}
	var err error
	p.host, err = hostdir.New(c.Dir, o, hostdir.Maker[record]{
		IDPrefix: idPrefix, LifeFile: machine.LockFile, Patience: patience,
		Load: load, Save: save,
		Accept: func(req infra.CreateInstanceRequest) error {
			_, err := p.accept(req)
			return err
		},
		Reserve: p.reserve, Build: p.build, Seen: seen, Remove: p.remove,
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Kind implements infra.Provider.
func (*Provider) Kind() string { return Kind }

// CreateInstance implements infra.Provider.
func (p *Provider) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if err := p.host.Owner.Check(req.Owner()); err != nil {
		return nil, err
	}
	return p.host.Create(ctx, req)
}

// DeleteInstance implements infra.Provider. The provider's id is not needed.
func (p *Provider) DeleteInstance(ctx context.Context, instanceID, _ string) error {
	return p.host.Delete(ctx, instanceID)
}

// GetInstanceStatus implements infra.Provider. The provider's id is not needed. Of
// a machine that goes it removes what can go by now.
func (p *Provider) GetInstanceStatus(ctx context.Context, instanceID, _ string) (*infra.Instance, error) {
	return p.host.Status(ctx, instanceID)
}

// ListInstances implements infra.Provider: by instance id, and never behind.
func (p *Provider) ListInstances(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	return p.host.List(ctx, req)
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
