package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/berth-cloud/berth/instances/infra"
)

// Delete is a provider's DeleteInstance: it writes down that the machine is to go, and
// then takes it away as far as that goes within the maker's patience.
func (m *Machines[T, P]) Delete(ctx context.Context, instanceID string) error {
	f, err := m.Folder(ctx, instanceID)
	if err != nil {
		return err
	}
	unlock, err := Lock(ctx, f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := m.Read(f) // and whether that is an answer
		return ignoreMissing(err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := m.Read(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.clearUnused()
		return nil
	case err != nil:
		return err
	case !m.Owns(r, instanceID):
		return nil
	}
	if err := m.mark(f, &r); err != nil {
		return fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if _, err := m.maker.Remove(ctx, f, r, m.maker.Patience); err != nil {
		return fmt.Errorf("%w: delete machine %s: %w", infra.ErrAmbiguous, P(&r).Head().ProviderID, err)
	}
	return nil
}

// mark writes down that a machine is to go.
func (m *Machines[T, P]) mark(f Folder, r *T) error {
	head := P(r).Head()
	if !head.DeletedAt.IsZero() {
		return nil
	}
	head.DeletedAt = m.Now().UTC().Round(0)
	return m.Take(Do("mark", func() error { return m.Write(f, *r) }))
}

// Status is a provider's GetInstanceStatus. Of a machine that goes it removes what can
// go by now.
func (m *Machines[T, P]) Status(ctx context.Context, instanceID string) (*infra.Instance, error) {
	f, r, err := m.Find(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	head := P(&r).Head()
	if head.DeletedAt.IsZero() {
		return m.maker.Seen(ctx, f, r), nil
	}
	gone, err := m.goOn(ctx, f, instanceID)
	if err != nil {
		m.Logger.WarnContext(ctx, "a machine is not removed yet", "machine", head.ProviderID, "error", err)
	}
	if gone {
		return nil, infra.ErrInstanceNotFound
	}
	return m.maker.Seen(ctx, f, r), nil
}

// goOn takes a removal further, unless another call does.
func (m *Machines[T, P]) goOn(ctx context.Context, f Folder, instanceID string) (gone bool, err error) {
	unlock, err := TryLock(f.Path)
	switch {
	case errors.Is(err, ErrLocked):
		return false, nil
	case err != nil:
		return false, ignoreMissing(err)
	}
	defer unlock()
	r, err := m.Read(f)
	if err != nil || !m.Owns(r, instanceID) || P(&r).Head().DeletedAt.IsZero() {
		return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
	}
	return m.maker.Remove(ctx, f, r, 0)
}
