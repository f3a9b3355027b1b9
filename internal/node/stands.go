package node

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"
)

// Standing is a firewall that somebody set up on the host, by what it says of itself.
type Standing struct {
	Name string // of its rules
	// First and Last are the IPv4 addresses of one of its pools.
	First, Last netip.Addr
}

// Overlaps reports whether a pool has an address of the other.
func (s Standing) Overlaps(pool netip.Prefix) bool {
	return s.First.Compare(last(pool)) <= 0 && pool.Masked().Addr().Compare(s.Last) <= 0
}

// Standing implements Host.
func (l *Local) Standing(ctx context.Context) ([]Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, done, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, unable("list the tables", err)
	}
	var out []Standing
	for _, t := range tables {
		name, ours := strings.CutPrefix(t.Name, TableName(""))
		if !ours || !nameForm.MatchString(name) {
			continue
		}
		pools, err := poolsOf(c, t)
		if err != nil {
			return nil, err
		}
		for _, sp := range pools {
			out = append(out, Standing{Name: name, First: sp.first, Last: sp.end.Prev()})
		}
	}
	return out, nil
}

// poolsOf reads the pools of a table; none of one that goes meanwhile, or has no set of
// that name.
func poolsOf(c *nftables.Conn, t *nftables.Table) ([]span, error) {
	s, err := c.GetSetByName(t, setPool+"4")
	if errors.Is(err, unix.ENOENT) || err == nil && s.KeyType != nftables.TypeIPAddr {
		return nil, nil
	}
	if err != nil {
		return nil, unable("read the pool of "+t.Name, err)
	}
	elements, err := c.GetSetElements(s)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, unable("read the pool of "+t.Name, err)
	}
	return spansOf(elements), nil
}

// spansOf are the intervals of a set of IPv4 addresses. The kernel lists firsts and ends
// in no order that is promised.
func spansOf(elements []nftables.SetElement) []span {
	var firsts, ends []netip.Addr
	for _, e := range elements {
		a, ok := netip.AddrFromSlice(e.Key)
		switch {
		case !ok:
		case e.IntervalEnd:
			ends = append(ends, a)
		default:
			firsts = append(firsts, a)
		}
	}
	var out []span
	for _, first := range firsts {
		sp := span{first: first}
		for _, end := range ends {
			if first.Less(end) && (!sp.end.IsValid() || end.Less(sp.end)) {
				sp.end = end
			}
		}
		if sp.end.IsValid() {
			out = append(out, sp)
		}
	}
	return out
}
