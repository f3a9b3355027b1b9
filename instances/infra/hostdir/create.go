package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/berth-cloud/berth/instances/infra"
)

// Create makes a machine, or what is missing of one that the same request began. The
// request is valid, and the owner's. What the configuration says is asked only of a
// machine that is new.
func (m *Machines[T, P]) Create(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	f := m.folder(req.InstanceID)
	_, err := m.Read(f)
	if errors.Is(err, fs.ErrNotExist) {
		err = m.maker.Accept(req)
	}
	if err != nil {
		return nil, err
	}
	unlock, err := f.lockNew(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := m.Read(f)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = m.maker.Reserve(ctx, f, req)
	}
	head := P(&r).Head()
	switch {
	case err != nil:
		return nil, err
	case !m.Owns(r, req.InstanceID) || head.Tags[infra.TagRequest] != req.Digest():
		return nil, fmt.Errorf("%w: it has a machine of another request", infra.ErrConflict)
	case !head.DeletedAt.IsZero():
		return nil, fmt.Errorf("%w: its machine is being deleted", infra.ErrConflict)
	}
	if err := m.maker.Build(ctx, f, r, req); err != nil {
		return nil, fmt.Errorf("%w: make machine %s: %w", infra.ErrAmbiguous, head.ProviderID, err)
	}
	return m.maker.Seen(ctx, f, r), nil
}
