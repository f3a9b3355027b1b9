package node

import (
	"context"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
)

// replace puts a table in the place of the one of its name, in one batch, which the
// kernel takes as a whole or not at all.
func (l *Local) replace(ctx context.Context, want layout) error {
	c, done, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	t := &nftables.Table{Family: nftables.TableFamilyINet, Name: want.table}
	c.AddTable(t) // so that there is one to delete
	c.DelTable(t)
	c.AddTable(t)
	ids := map[string]uint32{}
	for i, s := range want.sets {
		// A number of the batch alone: the library counts for all that use it, unguarded.
		made := &nftables.Set{Table: t, ID: uint32(i + 1), Name: s.name, KeyType: s.key, Interval: s.interval}
		if err := c.AddSet(made, s.elements); err != nil {
			return unable("write the set "+s.name, err)
		}
		ids[s.name] = made.ID
	}
	made := make([]*nftables.Chain, len(want.chains))
	for i, ch := range want.chains {
		made[i] = c.AddChain(asChain(t, ch))
	}
	for i, ch := range want.chains {
		for _, r := range ch.rules {
			c.AddRule(&nftables.Rule{Table: t, Chain: made[i], Exprs: withIDs(r.exprs, ids), UserData: comment(r.name)})
		}
	}
	return unable("write the firewall", c.Flush())
}

func asChain(t *nftables.Table, ch chain) *nftables.Chain {
	out := &nftables.Chain{Table: t, Name: ch.name}
	if ch.hook != nil {
		policy := nftables.ChainPolicyAccept
		out.Type, out.Hooknum, out.Priority, out.Policy = nftables.ChainTypeFilter, ch.hook, nftables.ChainPriorityRef(priority), &policy
	}
	return out
}

// withIDs are expressions that name the sets of their own batch.
func withIDs(all []expr.Any, ids map[string]uint32) []expr.Any {
	out := make([]expr.Any, len(all))
	for i, e := range all {
		if lookup, ok := e.(*expr.Lookup); ok {
			one := *lookup
			one.SetID = ids[one.SetName]
			e = &one
		}
		out[i] = e
	}
	return out
}

func comment(name string) []byte { return userdata.AppendString(nil, userdata.TypeComment, name) }
