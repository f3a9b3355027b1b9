package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// differs is an ErrDiffers that says in what.
func differs(form string, args ...any) error {
	return fmt.Errorf("%w: "+form, append([]any{ErrDiffers}, args...)...)
}

// compare reads a table back. It is nil when all of it is as it should be, and nothing
// else in it.
func (l *Local) compare(ctx context.Context, want layout) error {
	c, done, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	t, err := c.ListTableOfFamily(want.table, nftables.TableFamilyINet)
	switch {
	case errors.Is(err, unix.ENOENT), err == nil && t == nil:
		return differs("there is no table inet %s", want.table)
	case err != nil:
		return unable("read the firewall", err)
	case t.Flags != 0:
		return differs("the table inet %s has flags %#x, so that it may sleep", want.table, t.Flags)
	}
	if err := compareChains(c, t, want); err != nil {
		return err
	}
	return compareSets(c, t, want)
}

func compareChains(c *nftables.Conn, t *nftables.Table, want layout) error {
	all, err := c.ListChainsOfTableFamily(t.Family)
	if err != nil {
		return unable("read the chains", err)
	}
	have := map[string]*nftables.Chain{}
	for _, ch := range all {
		if ch.Table.Name == t.Name {
			have[ch.Name] = ch
		}
	}
	for _, ch := range want.chains {
		got := have[ch.name]
		if got == nil {
			return differs("the chain %s is missing from %s", ch.name, t.Name)
		}
		delete(have, ch.name)
		if !sameHook(got, asChain(t, ch)) {
			return differs("the chain %s of %s is hooked in elsewhere, or does not accept what it has no rule for", ch.name, t.Name)
		}
		rules, err := c.GetRules(t, got)
		if err != nil {
			return gone("read the rules of "+ch.name, err)
		}
		if err := compareRules(t, ch, rules); err != nil {
			return err
		}
	}
	for name := range have {
		return differs("the chain %s of %s is not ours", name, t.Name)
	}
	return nil
}

func sameHook(a, b *nftables.Chain) bool {
	return same(a.Hooknum, b.Hooknum) && same(a.Priority, b.Priority) && (b.Hooknum == nil || same(a.Policy, b.Policy) && a.Type == b.Type)
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// compareRules names the first rule that is not what or where it should be.
func compareRules(t *nftables.Table, ch chain, have []*nftables.Rule) error {
	for i, want := range ch.rules {
		if i < len(have) && nameOf(have[i]) == want.name {
			if !sameExprs(have[i].Exprs, want.exprs) {
				return differs("the rule %q of chain %s in %s was changed", want.name, ch.name, t.Name)
			}
			continue
		}
		for _, r := range have {
			if nameOf(r) == want.name {
				return differs("the rule %q of chain %s in %s is not in its place", want.name, ch.name, t.Name)
			}
		}
		return differs("the rule %q of chain %s in %s is missing", want.name, ch.name, t.Name)
	}
	if len(have) > len(ch.rules) {
		return differs("chain %s in %s has a rule that is not ours, %q", ch.name, t.Name, nameOf(have[len(ch.rules)]))
	}
	return nil
}

func nameOf(r *nftables.Rule) string {
	name, _ := userdata.GetString(r.UserData, userdata.TypeComment)
	return strings.TrimRight(name, "\x00")
}

// sameExprs compares what goes over the wire.
func sameExprs(have, want []expr.Any) bool {
	return slices.EqualFunc(have, want, func(a, b expr.Any) bool {
		left, err := wire(a)
		right, err2 := wire(b)
		return err == nil && err2 == nil && bytes.Equal(left, right)
	})
}

func wire(e expr.Any) ([]byte, error) {
	if lookup, ok := e.(*expr.Lookup); ok {
		one := *lookup
		one.SetID = 0 // of a batch
		e = &one
	}
	return expr.Marshal(byte(nftables.TableFamilyINet), e)
}

func compareSets(c *nftables.Conn, t *nftables.Table, want layout) error {
	for _, s := range want.sets {
		got, err := c.GetSetByName(t, s.name)
		if errors.Is(err, unix.ENOENT) {
			return differs("the set %s is missing from %s", s.name, t.Name)
		}
		if err != nil {
			return unable("read the set "+s.name, err)
		}
		if got.Interval != s.interval || got.KeyType.Name != s.key.Name || got.HasTimeout || got.IsMap {
			return differs("the set %s of %s is of another kind", s.name, t.Name)
		}
		elements, err := c.GetSetElements(got)
		if err != nil {
			return gone("read the set "+s.name, err)
		}
		if !slices.Equal(keys(elements), keys(s.elements)) {
			return differs("the set %s of %s was changed", s.name, t.Name)
		}
	}
	return nil
}

// keys are elements in an order of their own.
func keys(all []nftables.SetElement) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = fmt.Sprintf("%x end=%t", all[i].Key, all[i].IntervalEnd)
	}
	slices.Sort(out)
	return out
}

// gone is for what was there a moment ago. Of some errors the library keeps the words
// alone.
func gone(what string, err error) error {
	if errors.Is(err, unix.ENOENT) || strings.HasSuffix(err.Error(), unix.ENOENT.Error()) {
		return differs("it was changed during the look: %s: %w", what, err)
	}
	return unable(what, err)
}
