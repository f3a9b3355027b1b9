package nodetest

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// foreign is a table as an engine has one: it publishes ports.
const foreign = "somebody-else"

// published are ports of the host that lead to port 7000 of an address.
var published = map[uint16][2]string{
	18080: {"10.214.1.2", "fd21:4:1::2"},
	18081: {"10.214.2.2", "fd21:4:2::2"},
	18082: {"10.210.1.2", "fd21:10:1::2"},
}

func publish(t testing.TB, host *Space) {
	t.Helper()
	c, err := nftables.New(nftables.WithNetNSFd(host.FD()))
	if err != nil {
		t.Fatal(err)
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: foreign})
	chain := c.AddChain(&nftables.Chain{
		Table: table, Name: "prerouting", Type: nftables.ChainTypeNAT, Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityNATDest,
	})
	for port, to := range published {
		for i, family := range []byte{unix.NFPROTO_IPV4, unix.NFPROTO_IPV6} {
			c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
				&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, &expr.Cmp{Register: 1, Data: []byte{family}},
				&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, &expr.Cmp{Register: 1, Data: []byte{unix.IPPROTO_TCP}},
				&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
				&expr.Cmp{Register: 1, Data: binary.BigEndian.AppendUint16(nil, port)},
				&expr.Immediate{Register: 1, Data: netip.MustParseAddr(to[i]).AsSlice()},
				&expr.Immediate{Register: 2, Data: binary.BigEndian.AppendUint16(nil, 7000)},
				&expr.NAT{Type: expr.NATTypeDestNAT, Family: uint32(family), RegAddrMin: 1, RegProtoMin: 2},
			}})
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatalf("publish ports: %v", err)
	}
}
