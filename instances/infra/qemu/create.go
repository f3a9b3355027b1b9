package qemu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// argImage is the one argument that a request may have: the image's name.
const argImage = "image"

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
func (p *Provider) reserve(ctx context.Context, f hostdir.Folder, req infra.CreateInstanceRequest) (record, error) {
	r, err := p.accept(req)
	if err != nil {
		return record{}, err
	}
	unlock, err := hostdir.Lock(ctx, p.host.Home)
	if err != nil {
		return record{}, fmt.Errorf("%w: the folder of the machines: %w", infra.ErrUnavailable, err)
	}
	defer unlock()
	names, err := p.host.Names() // this one's folder is among them
	if err != nil {
		return record{}, err
	}
	if n := len(names); n > p.config.MaxMachines {
		return record{}, fmt.Errorf("%w: there are %d machines, as many as max_machines allows", infra.ErrNoCapacity, n-1)
	}
	r.Record = p.host.NewRecord(recordVersion, req)
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	defer root.Close()
	err = p.host.Take(
		hostdir.Do("record", func() error { return save(root, r) }),
		hostdir.Do("name", p.host.Sync),
	)
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrAmbiguous, err)
	}
	return r, nil
}

// build makes what is missing of a machine and starts it. Its folder is locked.
func (p *Provider) build(ctx context.Context, f hostdir.Folder, r record, req infra.CreateInstanceRequest) error {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if started, err := has(root, startedFile); err != nil || started {
		return err
	}
	note := hostdir.Do("started", func() error { return writeFile(root, startedFile, nil) })
	life, err := awaitLife(ctx, root, r)
	if errors.Is(err, hostdir.ErrLocked) {
		// A call that was cut has started it.
		if err := ready(ctx, root, r); err != nil {
			return err
		}
		return p.host.Take(note)
	}
	if err != nil {
		return err
	}
	defer life.Close()
	err = p.host.Take(
		hostdir.Do("disk", func() error { return p.makeDisk(ctx, root, f, r, life) }),
		hostdir.Do("seed", func() error { return writeSeed(root, r, req.UserData) }),
		hostdir.Do("launch", func() error { return p.launch(ctx, root, f, r, life) }),
		note,
	)
	if err == nil {
		p.host.Logger.InfoContext(ctx, "machine started", "instance", r.InstanceID, "machine", r.ProviderID)
	}
	return err
}

// awaitLife takes a machine's life. It is ErrLocked when the machine's process may have
// it; what a call that was cut left at work on the disk is waited for.
func awaitLife(ctx context.Context, root *os.Root, r record) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	for {
		life, err := takeLife(root)
		if !errors.Is(err, hostdir.ErrLocked) {
			return life, err
		}
		if made, err2 := hasDisk(root, r); err2 != nil || made {
			return nil, errors.Join(err, err2)
		}
		if err := hostdir.Pause(ctx, endEvery); err != nil {
			return nil, fmt.Errorf("what makes its disk has not ended: %w", err)
		}
	}
}
