package netns

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// instanceType is the only one there is; empty means it.
const instanceType = "standard"

// accept is what this kind of provider asks of a request, and the files in its
// user data.
func (p *Provider) accept(req infra.CreateInstanceRequest) ([]userFile, error) {
	if req.InstanceType != "" && req.InstanceType != instanceType {
		return nil, invalid("the instance type %q is not known; there is %s", req.InstanceType, instanceType)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Args)) {
		return nil, invalid("the argument %q is not known; %s takes none", name, Kind)
	}
	if _, err := p.config.pool(req.SubnetID); err != nil {
		return nil, err
	}
	files, err := parseUserData(req.UserData.Reveal())
	if err != nil {
		return nil, invalid("user data: %w", err)
	}
	return files, nil
}

// reserve chooses the machine's name and range, and writes its record.
func (p *Provider) reserve(ctx context.Context, f hostdir.Folder, req infra.CreateInstanceRequest) (record, error) {
	if _, err := p.accept(req); err != nil {
		return record{}, err
	}
	pool, err := p.config.pool(req.SubnetID)
	if err != nil {
		return record{}, err
	}
	unlock, err := p.lockPool(ctx)
	if err != nil {
		return record{}, err
	}
	defer unlock()
	used, err := p.usedLinks(ctx)
	if err != nil {
		return record{}, err
	}
	r := record{
		Record: p.host.NewRecord(recordVersion, req), Connected: p.config.ConnectMachines,
	}
	chance, err := hex.DecodeString(r.ProviderID[len(r.ProviderID)-8:])
	if err != nil {
		return record{}, err
	}
	var room bool
	if r.Link, room = freeLink(pool, used, binary.BigEndian.Uint32(chance)); !room {
		return record{}, fmt.Errorf("%w: every /%d of %v is another machine's or overlaps a route of the host", infra.ErrNoCapacity, linkBits, pool)
	}
	if err = p.host.Before("record"); err == nil {
		err = p.host.Write(f, r)
	}
	if err == nil {
		err = p.host.Sync()
	}
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", infra.ErrAmbiguous, err)
	}
	return r, nil
}

// build makes what is missing of a machine and starts it, once in its life. Its
// folder is locked.
func (p *Provider) build(ctx context.Context, f hostdir.Folder, r record, req infra.CreateInstanceRequest) error {
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := p.host.Before("lock"); err != nil {
		return err
	}
	life, err := unstarted(ctx, root)
	if err != nil || life == nil {
		return err
	}
	defer life.Close()
	files, err := p.accept(req)
	if err != nil {
		return err
	}
	steps := []hostdir.Step{
		hostdir.Do("files", func() error { return furnish(root, files) }),
		hostdir.Do("spec", func() error { return machine.WriteJSON(root, machine.SpecFile, p.spec(r)) }),
	}
	steps = append(steps, r.connect(ctx)...)
	steps = append(steps, hostdir.Do("launch", func() error {
		argv := append(slices.Clone(p.config.Program), "launch", f.Path)
		_, err := commandWith(ctx, []*os.File{life}, "", argv...)
		return err
	}))
	if err := p.host.Take(steps...); err != nil {
		return err
	}
	if err := p.host.Before("answer"); err != nil {
		return err
	}
	p.host.Logger.InfoContext(ctx, "machine started", "instance", r.InstanceID, "machine", r.ProviderID, "address", r.machineAddr())
	return nil
}

func (p *Provider) spec(r record) machine.Spec {
	s := machine.Spec{
		Hostname: r.InstanceID, Netns: r.netns(), Engine: p.config.Engine, RestartEngine: !p.config.LeaveEngineDown,
		Bridge: p.config.Bridge.String(), CgroupParent: "/" + cgroupRoot + "/" + r.ProviderID,
		InsecureRegistries: p.config.InsecureRegistries, GraceSeconds: int(p.config.StopGrace.Seconds()),
	}
	if len(p.config.Agent) > 0 {
		s.Agent = append(slices.Clone(p.config.Agent), "--dir", machine.AgentRoot, "--docker", "unix://"+machine.EngineSocket)
	}
	return s
}

// unstarted takes the lock of a machine that has not lived yet, and nil if it has.
// A launcher that a call left behind may still be at it: it starts the machine or
// ends in a moment.
func unstarted(ctx context.Context, root *os.Root) (*os.File, error) {
	for {
		life, err := lockLife(root)
		if err != nil && !errors.Is(err, hostdir.ErrLocked) {
			return nil, err
		}
		if _, started := root.Stat(machine.StartedFile); started == nil {
			if life != nil {
				_ = life.Close()
			}
			return nil, nil
		}
		if err == nil {
			return life, nil
		}
		if err := hostdir.Pause(ctx, hostdir.LockEvery); err != nil {
			return nil, fmt.Errorf("another call starts the machine: %w", err)
		}
	}
}

// furnish makes the machine's own folders, with the files of the user data.
func furnish(root *os.Root, files []userFile) error {
	for _, dir := range []string{machine.EngineDir, machine.BerthDir, machine.EtcDir, machine.LogDir} {
		if err := root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, file := range files {
		if err := root.MkdirAll(filepath.Dir(file.path), 0o700); err != nil {
			return errors.New("a folder of the user data's files cannot be made")
		}
		if err := writeFile(root, file); err != nil {
			return errors.New("a file of the user data cannot be written")
		}
	}
	return nil
}

func writeFile(root *os.Root, file userFile) error {
	out, err := root.OpenFile(file.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(file.content)
	return errors.Join(err, out.Chmod(file.mode), out.Close())
}

// lockLife takes the lock that a launcher and the machine itself hold. It is for
// the launcher to inherit.
func lockLife(root *os.Root) (*os.File, error) {
	life, err := root.OpenFile(machine.LockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(life.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = hostdir.ErrLocked
	}
	if err != nil {
		_ = life.Close()
		return nil, err
	}
	return life, nil
}
