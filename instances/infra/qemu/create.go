package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/berth-cloud/berth/instances/infra"
)

// argImage is the one argument that a request may have: the image's name.
const argImage = "image"

// CreateInstance implements infra.Provider.
func (p *Provider) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	f, err := p.check(ctx, req)
	if err != nil {
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
	return p.seen(ctx, f, r), nil
}

// check refuses what can never work before anything is made of it. What the
// configuration says is asked only of a machine that is new.
func (p *Provider) check(ctx context.Context, req infra.CreateInstanceRequest) (folder, error) {
	if err := ctx.Err(); err != nil {
		return folder{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	if err := errors.Join(req.Validate(), p.owner.Check(req.Owner())); err != nil {
		return folder{}, err
	}
	f := p.folder(req.InstanceID)
	_, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		_, err = p.accept(req)
	}
	return f, err
}

// accept finds what the request names.
func (p *Provider) accept(req infra.CreateInstanceRequest) (record, error) {
	var image string
	for _, name := range slices.Sorted(maps.Keys(req.Args)) {
		if name != argImage {
			return record{}, invalid("the argument %q is not known; %s takes %s", name, Kind, argImage)
		}
		var ok bool
		if image, ok = req.Args[name].(string); !ok {
			return record{}, invalid("the argument %s is no text", name)
		}
	}
	var r record
	var err1, err2, err3 error
	r.Image, err1 = pick("image", p.config.Images, image)
	r.Type, err2 = pick("instance type", p.config.Types, req.InstanceType)
	r.Network, err3 = p.config.network(req.SubnetID)
	return r, errors.Join(err1, err2, err3)
}

// reserve writes the record of a new machine, if there is room for it.
func (p *Provider) reserve(ctx context.Context, f folder, req infra.CreateInstanceRequest) (record, error) {
	r, err := p.accept(req)
	if err != nil {
		return record{}, err
	}
	unlock, err := lock(ctx, p.home)
	if err != nil {
		return record{}, fmt.Errorf("%w: the folder of the machines: %w", infra.ErrUnavailable, err)
	}
	defer unlock()
	n, err := p.count() // this one's folder is among them
	if err != nil {
		return record{}, err
	}
	if n > p.config.MaxMachines {
		return record{}, fmt.Errorf("%w: there are %d machines, as many as max_machines allows", infra.ErrNoCapacity, n-1)
	}
	r.Version, r.InstanceID, r.ProviderID = recordVersion, req.InstanceID, newProviderID(p.owner)
	r.Tags, r.LaunchedAt = req.Tags(), p.now().UTC().Round(0)
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	defer root.Close()
	err = p.take([]step{
		{"record", func() error { return r.write(root) }},
		{"name", func() error { return syncPath(p.home) }},
	})
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrAmbiguous, err)
	}
	return r, nil
}

func syncPath(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	return syncFolder(root)
}

// step is one effect. It can be made again after it was made, wholly or in part.
type step struct {
	name string
	make func() error
}

func (p *Provider) take(steps []step) error {
	for _, s := range steps {
		if err := p.before(s.name); err != nil {
			return err
		}
		if err := s.make(); err != nil {
			return err
		}
	}
	return nil
}

// build makes what is missing of a machine and starts it. Its folder is locked.
func (p *Provider) build(ctx context.Context, f folder, r record, req infra.CreateInstanceRequest) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	if started, err := has(root, startedFile); err != nil || started {
		return err
	}
	note := step{"started", func() error { return writeFile(root, startedFile, nil) }}
	life, err := awaitLife(ctx, root, r)
	if errors.Is(err, errLocked) {
		// A call that was cut has started it.
		if err := ready(ctx, root, r); err != nil {
			return err
		}
		return p.take([]step{note})
	}
	if err != nil {
		return err
	}
	defer life.Close()
	err = p.take([]step{
		{"disk", func() error { return p.makeDisk(ctx, root, f, r, life) }},
		{"seed", func() error { return writeSeed(root, r, req.UserData) }},
		{"launch", func() error { return p.launch(ctx, root, f, r, life) }},
		note,
	})
	if err == nil {
		p.logger.InfoContext(ctx, "machine started", "instance", r.InstanceID, "machine", r.ProviderID)
	}
	return err
}

// awaitLife takes a machine's life. It is errLocked when the machine's process may have
// it; what a call that was cut left at work on the disk is waited for.
func awaitLife(ctx context.Context, root *os.Root, r record) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	for {
		life, err := takeLife(root)
		if !errors.Is(err, errLocked) {
			return life, err
		}
		if made, err2 := hasDisk(root, r); err2 != nil || made {
			return nil, errors.Join(err, err2)
		}
		if err := pause(ctx, endEvery); err != nil {
			return nil, fmt.Errorf("what makes its disk has not ended: %w", err)
		}
	}
}
