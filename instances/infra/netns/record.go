package netns

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

const recordVersion = 1

// record is what a machine is. It is in the machine's folder from before the
// first effect until after the last.
type record struct {
	hostdir.Record
	// Link is the /30 of the machine and the host.
	Link netip.Prefix
	// Connected is a machine whose traffic the host forwards.
	Connected bool
}

func (r record) hostAddr() netip.Addr    { return r.Link.Masked().Addr().Next() }
func (r record) machineAddr() netip.Addr { return r.hostAddr().Next() }

const idPrefix = "berth-"

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

// load is the record in a machine's folder.
func load(root *os.Root) (record, error) {
	var r record
	err := machine.ReadJSON(root, hostdir.RecordFile, &r)
	switch {
	case err != nil:
		return record{}, fmt.Errorf("a machine's record: %w", err)
	case r.Version != recordVersion:
		return record{}, fmt.Errorf("a machine's record has version %d; this program reads %d", r.Version, recordVersion)
	}
	return r, nil
}

func save(root *os.Root, r record) error { return machine.WriteJSON(root, hostdir.RecordFile, r) }
