package qemu

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
)

// The files of a machine's folder.
const (
	diskFile    = "disk.qcow2"
	seedFile    = "seed.iso"
	lifeFile    = "life"
	monitorFile = "qmp"
	startedFile = "started"
)

const (
	recordVersion = 1
	maxRecord     = 1 << 20 // bytes
)

// record is what a machine is. It is in the machine's folder from before the
// first effect until after the last.
type record struct {
	hostdir.Record
	// Image, Type and Network are what the configuration said when it was made.
	Image   Image
	Type    Type
	Network Network
}

const idPrefix = "berth-vm-"

// uuid is how the machine's monitor knows which machine it is of.
func (r record) uuid() string {
	b := sha256.Sum256([]byte("uuid " + r.ProviderID + " " + r.InstanceID))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8, made by a rule of our own
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// mac is the hardware address of its card.
func (r record) mac() string {
	sum := sha256.Sum256([]byte("mac " + r.ProviderID + " " + r.InstanceID))
	return net.HardwareAddr(append([]byte{0x02}, sum[:5]...)).String()
}

// port is the name of its port on a bridge, at most 15 characters.
func (r record) port() string { return "bq" + hash(r.ProviderID)[:10] }

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// load is the record in a machine's folder.
func load(root *os.Root) (record, error) {
	r, err := readRecord(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("a machine's record: %w", err)
	}
	return r, err
}

func readRecord(root *os.Root) (r record, err error) {
	in, err := root.Open(hostdir.RecordFile)
	if err != nil {
		return record{}, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxRecord))
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err == nil && r.Version != recordVersion {
		err = fmt.Errorf("it has version %d; this program reads %d", r.Version, recordVersion)
	}
	if err != nil {
		return record{}, err
	}
	return r, nil
}

func save(root *os.Root, r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFile(root, hostdir.RecordFile, append(raw, '\n'))
}

// writeFile makes a file for root alone that is whole or not there.
func writeFile(root *os.Root, name string, data []byte) error {
	out, err := root.OpenFile(name+hostdir.Unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return finish(root, name)
}

// finish gives a file that is made its name, for good.
func finish(root *os.Root, name string) error {
	made, err := root.OpenFile(name+hostdir.Unfinished, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = errors.Join(made.Sync(), made.Close())
	if err == nil {
		err = root.Rename(name+hostdir.Unfinished, name)
	}
	if err == nil {
		err = syncFolder(root)
	}
	return err
}

// syncFolder makes the names in a folder last.
func syncFolder(root *os.Root) error {
	d, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func has(root *os.Root, name string) (bool, error) {
	_, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
