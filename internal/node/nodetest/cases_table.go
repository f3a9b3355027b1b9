package nodetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"

	"github.com/berth-cloud/berth/internal/node"
)

func (b *bench) nft() *nftables.Conn {
	b.Helper()
	c, err := nftables.New(nftables.WithNetNSFd(b.lab.host.FD()))
	b.ok(err)
	return c
}

// handles are what the kernel calls everything in a table; whatever is made anew has
// another.
func (b *bench) handles(table string) map[string][]uint64 {
	b.Helper()
	c := b.nft()
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyINet)
	b.ok(err)
	out := map[string][]uint64{}
	for _, ch := range chains {
		if ch.Table.Name != table {
			continue
		}
		rules, err := c.GetRules(ch.Table, ch)
		b.ok(err)
		out[ch.Name] = []uint64{}
		for _, r := range rules {
			out[ch.Name] = append(out[ch.Name], r.Handle)
		}
	}
	return out
}

func leftAlone(b *bench) {
	if err := b.host.CheckFirewall(b.Context(), b.rules); !errors.Is(err, node.ErrDiffers) {
		b.Errorf("before there are any: %v", err)
	}
	b.firewall()
	first := b.handles(node.TableName(b.rules.Name))
	if len(first) == 0 {
		b.Fatal("there is no table of the name")
	}
	for range 3 {
		b.firewall()
	}
	// Somebody changes something elsewhere, so that it has to look.
	c := b.nft()
	c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "unrelated"})
	b.ok(c.Flush())
	b.firewall()
	if again := b.handles(node.TableName(b.rules.Name)); !reflect.DeepEqual(first, again) {
		b.Errorf("rules that stood were made anew: %v, then %v", first, again)
	}
}

// harm is something that somebody does to the table.
type harm struct {
	name string
	do   func(c *nftables.Conn, t *nftables.Table, rules map[string][]*nftables.Rule)
	says string
}

func harms() []harm {
	return []harm{
		{"the table is deleted", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) { c.DelTable(t) }, "there is no table"},
		{"everything is deleted", func(c *nftables.Conn, _ *nftables.Table, _ map[string][]*nftables.Rule) { c.FlushRuleset() }, "there is no table"},
		{"all rules are flushed", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) { c.FlushTable(t) }, "is missing"},
		{"one rule is deleted", func(c *nftables.Conn, _ *nftables.Table, rules map[string][]*nftables.Rule) {
			_ = c.DelRule(find(rules, "a source that is not at home here"))
		}, `"a source that is not at home here"`},
		{"a rule is put first", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			c.InsertRule(&nftables.Rule{Table: t, Chain: &nftables.Chain{Table: t, Name: "from-lease"}, Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}})
		}, "is not in its place"},
		{"a rule is put last", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			c.AddRule(&nftables.Rule{Table: t, Chain: &nftables.Chain{Table: t, Name: "forward"}, Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}})
		}, "is not ours"},
		{"a rule says something else", func(c *nftables.Conn, _ *nftables.Table, rules map[string][]*nftables.Rule) {
			r := find(rules, "straight to a lease")
			r.Exprs = []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}
			c.ReplaceRule(r)
		}, `"straight to a lease"`},
		{"a rule asks something else", func(c *nftables.Conn, _ *nftables.Table, rules map[string][]*nftables.Rule) {
			r := find(rules, "answers")
			r.Exprs = append([]expr.Any{&expr.Counter{}}, r.Exprs...)
			c.ReplaceRule(r)
		}, `"answers"`},
		{"a prefix is added", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			_ = c.SetAddElements(&nftables.Set{Table: t, Name: "allowed4", KeyType: nftables.TypeIPAddr, Interval: true}, []nftables.SetElement{
				{Key: []byte{10, 99, 0, 0}}, {Key: []byte{10, 100, 0, 0}, IntervalEnd: true},
			})
		}, "allowed4"},
		{"a set is emptied", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			c.FlushSet(&nftables.Set{Table: t, Name: "private6"})
		}, "private6"},
		{"a chain is added", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			c.AddChain(&nftables.Chain{Table: t, Name: "more"})
		}, "the chain more"},
		{"a chain drops everything", func(c *nftables.Conn, t *nftables.Table, _ map[string][]*nftables.Rule) {
			policy := nftables.ChainPolicyDrop
			c.AddChain(&nftables.Chain{
				Table: t, Name: "forward", Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityRef(-20), Policy: &policy,
			})
		}, "the chain forward"},
	}
}

func find(all map[string][]*nftables.Rule, name string) *nftables.Rule {
	for _, rules := range all {
		for _, r := range rules {
			if text, _ := userdata.GetString(r.UserData, userdata.TypeComment); strings.TrimRight(text, "\x00") == name {
				return r
			}
		}
	}
	panic("no rule is named " + name)
}

func putRight(b *bench) {
	t := &nftables.Table{Family: nftables.TableFamilyINet, Name: node.TableName(b.rules.Name)}
	for _, h := range harms() {
		b.firewall()
		c := b.nft()
		rules := map[string][]*nftables.Rule{}
		for chain := range b.handles(t.Name) {
			var err error
			rules[chain], err = c.GetRules(t, &nftables.Chain{Table: t, Name: chain})
			b.ok(err)
		}
		h.do(c, t, rules)
		b.ok(c.Flush())
		err := b.host.CheckFirewall(b.Context(), b.rules)
		if !errors.Is(err, node.ErrDiffers) || !strings.Contains(err.Error(), h.says) {
			b.Errorf("%s: %v; it is to say %q", h.name, err, h.says)
		}
		b.firewall()
	}
	publish(b, b.lab.host) // it went with everything
	b.lab.try(b.T, "put right", true)
}

func otherRules(b *bench) {
	b.firewall()
	other := b.rules
	other.Allow = []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")}
	other.HostPorts = []uint16{7000}
	if err := b.host.CheckFirewall(b.Context(), other); !errors.Is(err, node.ErrDiffers) {
		b.Errorf("others are said to stand: %v", err)
	}
	b.rules = other
	b.firewall()
	for _, w := range []way{
		tcp("what was allowed", "a1", "172.16.9.9:7000", "lan", false), tcp("what is allowed now", "a1", "10.99.9.9:7000", "lan", true),
		tcp("a port that was the data plane's", "a1", "10.214.1.1:80", "host", false), tcp("one that is", "a1", "10.214.1.1:7000", "host", true),
	} {
		if said := b.lab.check(w, w.open); said != "" {
			b.Error(said)
		}
	}
}

// noWindow sends packets to another lease, without a pause, while rules are replaced: one
// that arrives was sent in a moment without them.
func noWindow(b *bench) {
	b.firewall()
	heard := b.listen("b1", "10.214.2.2:7001")
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var sent atomic.Int64
	ended := make(chan struct{})
	go func() {
		for ctx.Err() == nil {
			// A refusal makes the next write fail; that it was sent is all that counts.
			_, _ = b.lab.spaces["a1"].dialUDP("10.214.1.2", "10.214.2.2:7001", "through")
			sent.Add(1)
		}
		close(ended)
	}()
	other := b.rules
	other.Allow = nil
	replaced := 0
	for ; replaced < 100 || sent.Load() < 500; replaced++ {
		b.ok(b.host.Firewall(b.Context(), []node.Rules{other, b.rules}[replaced%2]))
		if replaced > 5000 {
			b.Fatalf("only %d packets were sent", sent.Load())
		}
	}
	stop()
	<-ended
	b.Logf("%d packets while the rules were replaced %d times", sent.Load(), replaced)
	select {
	case <-heard:
		b.Errorf("a packet arrived while the rules were replaced %d times", replaced)
	default:
	}
	b.ok(b.host.DropFirewall(b.Context(), b.rules.Name))
	_, err := b.lab.spaces["a1"].dialUDP("10.214.1.2", "10.214.2.2:7001", "through")
	b.ok(err)
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		b.Error("without rules none arrives either, so that nothing can be said of those that did not")
	}
}

func notTouched(b *bench) {
	before := b.handles(foreign)
	b.firewall()
	other := b.rules
	other.Name = "another"
	b.ok(b.host.Firewall(b.Context(), other))
	if after := b.handles(foreign); fmt.Sprint(before) != fmt.Sprint(after) || len(before) == 0 {
		b.Errorf("the table of somebody else was %v and is %v", before, after)
	}
	b.ok(b.host.DropFirewall(b.Context(), other.Name))
	b.ok(b.host.CheckFirewall(b.Context(), b.rules))
	if after := b.handles(foreign); fmt.Sprint(before) != fmt.Sprint(after) {
		b.Errorf("the table of somebody else was %v and is %v", before, after)
	}
}

func takenAway(b *bench) {
	b.ok(b.host.DropFirewall(b.Context(), b.rules.Name)) // none is there
	b.firewall()
	b.ok(b.host.DropFirewall(b.Context(), b.rules.Name))
	if err := b.host.CheckFirewall(b.Context(), b.rules); !errors.Is(err, node.ErrDiffers) {
		b.Errorf("they are said to stand: %v", err)
	}
	if left := b.handles(node.TableName(b.rules.Name)); len(left) != 0 {
		b.Errorf("something is left: %v", left)
	}
	b.lab.try(b.T, "taken away", false)
}

func standing(b *bench) {
	tell := func(want ...string) {
		b.Helper()
		all, err := b.host.Standing(b.Context())
		b.ok(err)
		got := []string{}
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s %s-%s", s.Name, s.First, s.Last))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			b.Errorf("what stands is %q, want %q", got, want)
		}
	}
	tell()
	b.firewall()
	other := b.rules
	other.Name, other.Pools = "another", []netip.Prefix{netip.MustParsePrefix("10.216.0.0/15"), netip.MustParsePrefix("fd00::/8")}
	b.ok(b.host.Firewall(b.Context(), other))
	tell("another 10.216.0.0-10.217.255.255", b.rules.Name+" 10.214.0.0-10.214.255.255")
	b.ok(b.host.DropFirewall(b.Context(), b.rules.Name))
	tell("another 10.216.0.0-10.217.255.255")
}

func noRules(b *bench) {
	for name, change := range map[string]func(*node.Rules){
		"no name":           func(r *node.Rules) { r.Name = "" },
		"a name with a /":   func(r *node.Rules) { r.Name = "a/b" },
		"no pool":           func(r *node.Rules) { r.Pools = nil },
		"all is pool":       func(r *node.Rules) { r.Pools = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} },
		"short bridges":     func(r *node.Rules) { r.Bridges = "b" },
		"host bits":         func(r *node.Rules) { r.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/8")} },
		"port 0":            func(r *node.Rules) { r.HostPorts = []uint16{0} },
		"no address":        func(r *node.Rules) { r.Resolvers = []netip.Addr{{}} },
		"a lot of prefixes": func(r *node.Rules) { r.HostPorts = make([]uint16, 1000) },
	} {
		r := b.rules
		change(&r)
		if err := b.host.Firewall(b.Context(), r); !errors.Is(err, node.ErrRules) {
			b.Errorf("%s: %v", name, err)
		}
	}
	if err := b.host.DropFirewall(b.Context(), "a b"); !errors.Is(err, node.ErrRules) {
		b.Errorf("%v", err)
	}
}
