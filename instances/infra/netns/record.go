package netns

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

const (
	recordFile    = "machine.json"
	recordVersion = 1
	lockEvery     = 5 * time.Millisecond
)

// record is what a machine is. It is in the machine's folder from before the
// first effect until after the last.
type record struct {
	Version    int
	InstanceID string
	ProviderID string
	Tags       map[string]string
	LaunchedAt time.Time
	// Link is the /30 of the machine and the host.
	Link netip.Prefix
	// Connected is a machine whose traffic the host forwards.
	Connected bool
	// DeletedAt is when it was first asked to go, or zero.
	DeletedAt time.Time
}

func (r record) hostAddr() netip.Addr    { return r.Link.Masked().Addr().Next() }
func (r record) machineAddr() netip.Addr { return r.hostAddr().Next() }

// ownerHash is in the name of all that an owner's machines are made of.
func ownerHash(o infra.Owner) string {
	sum := sha256.Sum256([]byte(o.ClusterID + "\n" + o.Shard))
	return hex.EncodeToString(sum[:4])
}

const idPrefix = "berth-"

// newProviderID is idPrefix, the owner's hash, a dash and 8 digits of chance.
func newProviderID(o infra.Owner) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return idPrefix + ownerHash(o) + "-" + hex.EncodeToString(b[:])
}

// link is the name of the host's end, at most 15 characters.
func (r record) link() string {
	return linkPrefix(r.ProviderID) + r.ProviderID[len(r.ProviderID)-8:]
}

// linkPrefix begins the links of all machines of an owner.
func linkPrefix(providerID string) string {
	return "bm" + providerID[len(idPrefix):len(idPrefix)+4]
}

// mac is the hardware address of an end: it tells our link from another's.
func (r record) mac(end string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(r.ProviderID + " " + end))
	return append(net.HardwareAddr{0x02}, sum[:5]...)
}

// folder is where a machine is, or would be.
type folder struct{ path string }

func (p *Provider) folder(instanceID string) folder {
	return folder{filepath.Join(p.home, instanceID)}
}

// read is the machine's record. None is fs.ErrNotExist, which is an answer only
// while the provider's own folder is there.
func (f folder) read() (record, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			if _, above := os.Stat(filepath.Dir(f.path)); above != nil {
				return record{}, fmt.Errorf("%w: the folder of the machines is not there", infra.ErrUnavailable)
			}
			return record{}, fs.ErrNotExist
		}
		return record{}, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	defer root.Close()
	var r record
	err = machine.ReadJSON(root, recordFile, &r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record{}, fs.ErrNotExist
	case err != nil:
		return record{}, fmt.Errorf("%w: a machine's record: %w", infra.ErrUnavailable, err)
	case r.Version != recordVersion:
		return record{}, fmt.Errorf("%w: a machine's record has version %d; this program reads %d", infra.ErrUnavailable, r.Version, recordVersion)
	}
	return r, nil
}

func (f folder) write(r record) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	return machine.WriteJSON(root, recordFile, r)
}

// lock takes a folder for one call, over all processes; the folder itself is what
// is locked, so that nothing of it is left. A missing one is fs.ErrNotExist.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err = tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if err := pause(ctx, lockEvery); err != nil {
			return nil, fmt.Errorf("%w: another call has this machine: %w", infra.ErrUnavailable, err)
		}
	}
}

// pause waits a moment, or returns ctx's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errLocked = errors.New("locked by another call")

func tryLock(path string) (unlock func(), err error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		_ = d.Close()
		return nil, errLocked
	}
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// It may have been removed, and made again, while the lock was waited for.
	held, err1 := d.Stat()
	named, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(held, named) {
		_ = d.Close()
		return nil, errLocked
	}
	return func() { _ = d.Close() }, nil
}
