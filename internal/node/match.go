package node

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Messages by which neighbours find each other, of ICMPv6.
const (
	neighbourSolicitation  = 135
	neighbourAdvertisement = 136
)

// register is where each match loads what it compares.
const register = 1

// side is one of the addresses of a packet.
type side bool

const (
	source      side = false
	destination side = true
)

// Bits of a connection's state and status, in the kernel's byte order.
const (
	replyDirection = 1
	dnatStatus     = 1 << 5 // IPS_DST_NAT
)

type matches = []expr.Any

func one(e expr.Any) matches { return matches{e} }

func join(all ...matches) matches {
	var out matches
	for _, m := range all {
		out = append(out, m...)
	}
	return out
}

var (
	accept = one(&expr.Verdict{Kind: expr.VerdictAccept})
	drop   = one(&expr.Verdict{Kind: expr.VerdictDrop})
)

func goTo(chain string) matches { return one(&expr.Verdict{Kind: expr.VerdictGoto, Chain: chain}) }

func is(data []byte) matches {
	return one(&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: data})
}

func inSet(name string) matches { return one(&expr.Lookup{SourceRegister: register, SetName: name}) }

func meta(key expr.MetaKey) matches { return one(&expr.Meta{Key: key, Register: register}) }

// both is a rule for each family, by one of the addresses.
func both(name string, s side, set string, then matches) []rule {
	four := &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}
	six := &expr.Payload{DestRegister: register, Base: expr.PayloadBaseNetworkHeader, Offset: 8, Len: 16}
	if s == destination {
		four.Offset, six.Offset = 16, 24
	}
	return []rule{
		{name + ", IPv4", join(family(false), one(four), inSet(set+"4"), then)},
		{name + ", IPv6", join(family(true), one(six), inSet(set+"6"), then)},
	}
}

func family(six bool) matches {
	f := byte(unix.NFPROTO_IPV4)
	if six {
		f = unix.NFPROTO_IPV6
	}
	return join(meta(expr.MetaKeyNFPROTO), is([]byte{f}))
}

func protocol(p byte) matches { return join(meta(expr.MetaKeyL4PROTO), is([]byte{p})) }

func protocolIn(set string) matches { return join(meta(expr.MetaKeyL4PROTO), inSet(set)) }

func icmpType() matches {
	return one(&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Len: 1})
}

func destinationPort() matches {
	return one(&expr.Payload{DestRegister: register, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2})
}

func interfaceIs(key expr.MetaKey, name string) matches {
	return join(meta(key), is(interfaceName(name)))
}

func interfaceBegins(key expr.MetaKey, prefix string) matches {
	return join(meta(key), is([]byte(prefix)))
}

// interfaceName is a name as the kernel keeps it.
func interfaceName(name string) []byte {
	out := make([]byte, unix.IFNAMSIZ)
	copy(out, name)
	return out
}

// engineBridge is a bridge that Docker named: br- and 12 digits of the network's id, which
// is as long as a name may be. A bridge that somebody named br-lan is none.
func engineBridge() matches {
	mask := make([]byte, unix.IFNAMSIZ)
	mask[unix.IFNAMSIZ-2] = 0xff
	return join(
		interfaceBegins(expr.MetaKeyOIFNAME, "br-"),
		meta(expr.MetaKeyOIFNAME),
		one(&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: unix.IFNAMSIZ, Mask: mask, Xor: make([]byte, unix.IFNAMSIZ)}),
		one(&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, unix.IFNAMSIZ)}),
	)
}

// route asks whether an address of the packet is reached by the interface that the packet
// came in by.
func route(s side, is bool) matches {
	found := byte(0)
	if is {
		found = 1
	}
	return matches{
		&expr.Fib{Register: register, ResultOIF: true, FlagSADDR: s == source, FlagDADDR: s == destination, FlagIIF: true, FlagPRESENT: true},
		&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{found}},
	}
}

// answer is a packet back to whoever began the connection, or about it.
func answer() matches {
	return join(
		one(&expr.Ct{Key: expr.CtKeyDIRECTION, Register: register}), is([]byte{replyDirection}),
		one(&expr.Ct{Key: expr.CtKeySTATE, Register: register}), anyOf(expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED),
	)
}

// translated is a packet of a connection that came by a published port.
func translated() matches {
	return join(one(&expr.Ct{Key: expr.CtKeySTATUS, Register: register}), anyOf(dnatStatus))
}

func anyOf(bits uint32) matches {
	return matches{
		&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(bits), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: make([]byte, 4)},
	}
}

// addresses is a set of the prefixes of one family.
func addresses(name string, all []netip.Prefix, six bool) set {
	s := set{name: name + "4", key: nftables.TypeIPAddr, interval: true}
	if six {
		s.name, s.key = name+"6", nftables.TypeIP6Addr
	}
	for _, sp := range spans(all, six) {
		s.elements = append(s.elements, nftables.SetElement{Key: sp.first.AsSlice()})
		if sp.end.IsValid() {
			s.elements = append(s.elements, nftables.SetElement{Key: sp.end.AsSlice(), IntervalEnd: true})
		}
	}
	return s
}

func ports(name string, all []uint16) set {
	s := set{name: name, key: nftables.TypeInetService}
	seen := map[uint16]bool{}
	for _, p := range all {
		if !seen[p] {
			seen[p] = true
			s.elements = append(s.elements, nftables.SetElement{Key: bigEndian16(p)})
		}
	}
	return s
}

func bytesOf(name string, key nftables.SetDatatype, all ...byte) set {
	s := set{name: name, key: key}
	for _, b := range all {
		s.elements = append(s.elements, nftables.SetElement{Key: []byte{b}})
	}
	return s
}

func bigEndian16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
