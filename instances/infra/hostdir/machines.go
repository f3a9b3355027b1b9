package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Maker is what one kind of provider does by itself; T is its record. All is required.
type Maker[T any] struct {
	// IDPrefix begins the provider's id of every machine.
	IDPrefix string
	// LifeFile is what the machine's process holds locked, in its folder.
	LifeFile string
	// Patience is how long a delete waits for the machine to end by itself.
	Patience time.Duration

	// Load reads the record in a folder; none is fs.ErrNotExist.
	Load func(root *os.Root) (T, error)
	// Save replaces the record in a folder at once, so that it lasts.
	Save func(root *os.Root, r T) error
	// Accept refuses a request that can never work, before anything is made of it.
	Accept func(infra.CreateInstanceRequest) error
	// Reserve writes the record of a new machine; the folder is locked.
	Reserve func(context.Context, Folder, infra.CreateInstanceRequest) (T, error)
	// Build makes what is missing of a machine and starts it; the folder is locked.
	Build func(context.Context, Folder, T, infra.CreateInstanceRequest) error
	// Seen is a machine as it is now.
	Seen func(context.Context, Folder, T) *infra.Instance
	// Remove takes a machine away, as far as that goes within wait; the folder is
	// locked. It reports gone only once nothing is left, nor the folder.
	Remove func(ctx context.Context, f Folder, r T, wait time.Duration) (gone bool, err error)
}

// Machines are those of one owner. It holds nothing that is not in the folder: any
// number of them, in any number of processes, may be open for one.
type Machines[T any, P Recorded[T]] struct {
	Owner infra.Owner
	// Home is the folder of the owner's machines.
	Home   string
	Logger *slog.Logger
	Now    func() time.Time
	// Before is called with the name of every effect of a create or a delete; an
	// error ends the call there, as a crash does. Tests set it.
	Before func(effect string) error
	maker  Maker[T]
}

// New opens the folder of o.Owner's machines below dir, and makes it when missing. Of
// o it takes the logger and the clock as well. Owner and dir are checked already.
func New[T any, P Recorded[T]](dir string, o infra.Options, maker Maker[T]) (*Machines[T, P], error) {
	m := &Machines[T, P]{
		Owner: o.Owner, Logger: o.Logger, Now: o.Now, maker: maker,
		Home:   filepath.Join(dir, o.Owner.ClusterID+"."+o.Owner.Shard),
		Before: func(string) error { return nil },
	}
	if m.Logger == nil {
		m.Logger = slog.New(slog.DiscardHandler)
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if err := os.MkdirAll(m.Home, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the machines: %w", err)
	}
	return m, nil
}

// Names are the instances that have a folder, in the order of their ids.
func (m *Machines[T, P]) Names() ([]string, error) {
	entries, err := os.ReadDir(m.Home)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	var names []string
	for _, e := range entries {
		if infra.CheckInstanceID(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Read is the record in a folder. None is fs.ErrNotExist, which is an answer; what
// cannot be read is infra.ErrUnavailable.
func (m *Machines[T, P]) Read(f Folder) (T, error) {
	var none T
	root, err := f.open()
	if err != nil {
		return none, err
	}
	defer root.Close()
	r, err := m.maker.Load(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return none, fs.ErrNotExist
	case err != nil:
		return none, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	return r, nil
}

// Write replaces the record in a folder, which is there and locked.
func (m *Machines[T, P]) Write(f Folder, r T) error {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	return m.maker.Save(root, r)
}

// Find is the folder and the record of the owner's machine of that instance. One that
// is not there, or another's, is infra.ErrInstanceNotFound.
func (m *Machines[T, P]) Find(ctx context.Context, instanceID string) (Folder, T, error) {
	var none T
	f, err := m.Folder(ctx, instanceID)
	if err != nil {
		return Folder{}, none, err
	}
	r, err := m.Read(f)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !m.Owns(r, instanceID):
		return Folder{}, none, infra.ErrInstanceNotFound
	case err != nil:
		return Folder{}, none, err
	}
	return f, r, nil
}

// Folder checks what is asked for and names its folder.
func (m *Machines[T, P]) Folder(ctx context.Context, instanceID string) (Folder, error) {
	if err := ctx.Err(); err != nil {
		return Folder{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := infra.CheckInstanceID(instanceID); err != nil {
		return Folder{}, err
	}
	return m.folder(instanceID), nil
}

func (m *Machines[T, P]) folder(instanceID string) Folder {
	return Folder{filepath.Join(m.Home, instanceID)}
}
