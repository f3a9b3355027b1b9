package application

import "net/netip"

// inTurn yields the subnets of the pool, those after the one that was tried last first:
// one that was freed a moment ago comes last. A data plane that nobody reaches may still
// send what was meant for its last owner to the addresses in it. The first time it begins
// after what is taken. choosing is held.
func (n *Networks) inTurn(taken []netip.Prefix) func(yield func(netip.Prefix) bool) {
	last := n.last
	for _, p := range taken {
		if !n.last.IsValid() && n.Pool.Contains(p.Addr()) && (!last.IsValid() || last.Addr().Less(p.Addr())) {
			last = p
		}
	}
	return func(yield func(netip.Prefix) bool) {
		for _, behind := range []bool{true, false} {
			for p := range subnets(n.Pool) {
				if (!last.IsValid() || last.Addr().Less(p.Addr())) != behind {
					continue
				}
				n.last = p
				if !yield(p) {
					return
				}
			}
		}
	}
}
