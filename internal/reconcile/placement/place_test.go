package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func node(id string, change ...func(*Node)) Node {
	n := Node{ID: id, Online: true}
	for _, c := range change {
		c(&n)
	}
	return n
}

func loaded(load int) func(*Node)      { return func(n *Node) { n.Load = load } }
func closed(why string) func(*Node)    { return func(n *Node) { n.Closed = why } }
func offline(n *Node)                  { n.Online = false }
func lost(n *Node)                     { n.Online, n.Lost = false, true }
func awaited(n *Node)                  { n.Online, n.Awaited = false, true }
func labelled(k, v string) func(*Node) { return func(n *Node) { n.Labels = map[string]string{k: v} } }

func TestWhereAnAppIsPlaced(t *testing.T) {
	for name, tc := range map[string]struct {
		want  Want
		nodes []Node
		at    string // nodes, or part of the error
	}{
		"on this machine when there is no other":                             {Want{Replicas: 3}, []Node{node("")}, "[]"},
		"on the least loaded":                                                {Want{}, []Node{node("", loaded(4)), node("a", loaded(2)), node("b", loaded(1))}, "[b]"},
		"on the first of equals, in any order":                               {Want{}, []Node{node("b"), node("a")}, "[a]"},
		"where it is, though another has less":                               {Want{Has: []string{"a"}}, []Node{node("a", loaded(9)), node("b")}, "[a]"},
		"by name":                                                            {Want{Node: "local"}, []Node{node("", loaded(9)), node("a")}, "[]"},
		"by label":                                                           {Want{Labels: map[string]string{"disk": "ssd"}}, []Node{node("a"), node("b", labelled("disk", "ssd"))}, "[b]"},
		"on none that is closed":                                             {Want{}, []Node{node("a", closed("it is cordoned")), node("b", loaded(5))}, "[b]"},
		"elsewhere when its node is drained":                                 {Want{Has: []string{"a"}}, []Node{node("a", closed("it is being drained"), func(n *Node) { n.Leave = true }), node("b")}, "[b]"},
		"where it is when its node is cordoned":                              {Want{Has: []string{"a"}}, []Node{node("a", closed("it is cordoned")), node("b")}, "[a]"},
		"where it is while its node is offline":                              {Want{Has: []string{"a"}}, []Node{node("a", offline), node("b")}, "[a]"},
		"elsewhere when it asks for that":                                    {Want{Has: []string{"a"}, Node: "b"}, []Node{node("a"), node("b")}, "[b]"},
		"nowhere when its volumes are gone with their node":                  {Want{App: "bank", Has: []string{"a"}, Fixed: "it had data there", Node: "b"}, []Node{node("b")}, "app bank was on a, which is gone, and it had data there; to begin anew"},
		"where it is, when nothing changed, though it is closed and offline": {Want{Has: []string{"a"}, Stay: true}, []Node{node("a", closed("x"), offline), node("b")}, "[a]"},
		"elsewhere when its node is lost":                                    {Want{Has: []string{"a"}, Stay: true}, []Node{node("a", lost), node("b")}, "[b]"},
		"elsewhere when nobody knows its node":                               {Want{Has: []string{"gone"}, Stay: true}, []Node{node("b")}, "[b]"},
		"with its volumes, lost or not":                                      {Want{Has: []string{"a"}, Fixed: "volume data is there"}, []Node{node("a", lost), node("b")}, "[a]"},
		"not away from its volumes":                                          {Want{Has: []string{"a"}, Fixed: "volume data is there", Node: "b"}, []Node{node("a"), node("b")}, "cannot leave a: volume data is there"},
		"with its volumes, as it asks":                                       {Want{Has: []string{"a"}, Fixed: "x", Node: "one"}, []Node{node("a", func(n *Node) { n.Name = "one" })}, "[a]"},
		"nowhere, and why": {Want{App: "shop", Labels: map[string]string{"disk": "ssd"}}, []Node{node(""), node("a", offline), node("b", closed("it is cordoned")), node("c", lost)},
			"app shop: local: it has not the label disk=ssd; a: it is offline; b: it is cordoned; c: it is lost"},
		"nowhere when there is no node":                         {Want{App: "shop"}, nil, "there is none"},
		"spread over all":                                       {Want{Spread: true, Replicas: 6}, []Node{node("a"), node("b"), node("c")}, "[a b c a b c]"},
		"spread over those that fit":                            {Want{Spread: true, Replicas: 4}, []Node{node("a"), node("b", offline), node("c")}, "[a c a c]"},
		"spread once a node is back that was here a moment ago": {Want{App: "shop", Spread: true, Replicas: 6, Has: []string{"a", "b", "c"}}, []Node{node("a"), node("b", awaited), node("c")}, "a node is expected back in a moment: app shop: b"},
		"spread once it is known what its node is":              {Want{App: "shop", Spread: true, Replicas: 2, Has: []string{"a"}, Labels: map[string]string{"disk": "ssd"}}, []Node{node(""), node("a", awaited)}, "a node is expected back in a moment: app shop: a"},
		"what a lost node had, once another one is back":        {Want{App: "shop", Spread: true, Replicas: 3, Has: []string{"a", "b", "c"}, Stay: true}, []Node{node("a"), node("b", awaited), node("c", lost)}, "a node is expected back in a moment: app shop: b"},
		"spread without waiting for one that is no part of it":  {Want{Spread: true, Replicas: 2, Labels: map[string]string{"disk": "ssd"}}, []Node{node("a", labelled("disk", "ssd")), node("b", awaited)}, "[a a]"},
		"spread without waiting for one that is closed":         {Want{Spread: true, Replicas: 2}, []Node{node("a"), node("b", awaited, closed("it is cordoned"))}, "[a a]"},
		"on another one than what is awaited":                   {Want{}, []Node{node("a", awaited), node("b", loaded(9))}, "[b]"},
		"on what is awaited, when there is no other":            {Want{App: "shop", Node: "a"}, []Node{node("a", awaited), node("b")}, "a node is expected back in a moment: app shop: a"},
		"where it is while its node is awaited":                 {Want{Has: []string{"a"}}, []Node{node("a", awaited), node("b")}, "[a]"},
		"spread, less loaded first":                             {Want{Spread: true, Replicas: 2}, []Node{node("a", loaded(3)), node("b", loaded(1)), node("c", loaded(2))}, "[b c]"},
		"what a lost node had, over the others": {Want{Spread: true, Replicas: 6, Has: []string{"a", "b", "c", "a", "b", "c"}, Stay: true},
			[]Node{node("a"), node("b"), node("c", lost)}, "[a b a a b b]"},
		"spread anew over a node that came":        {Want{Spread: true, Replicas: 6, Has: []string{"a", "b", "a", "a", "b", "b"}}, []Node{node("a"), node("b"), node("d")}, "[a b a d b d]"},
		"more replicas of a spread app":            {Want{Spread: true, Replicas: 5, Has: []string{"a", "b"}}, []Node{node("a"), node("b")}, "[a b a b a]"},
		"fewer replicas of a spread app":           {Want{Spread: true, Replicas: 2, Has: []string{"a", "b", "a", "b"}}, []Node{node("a"), node("b")}, "[a b]"},
		"together again when it is spread no more": {Want{Replicas: 4, Has: []string{"a", "b", "a", "b"}}, []Node{node("a"), node("b")}, "[a]"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := Place(tc.want, tc.nodes)
			if err != nil {
				kind := ErrNoNode
				if strings.HasPrefix(tc.at, ErrAwaited.Error()) {
					kind = ErrAwaited
				}
				if !errors.Is(err, kind) || !strings.Contains(err.Error(), tc.at) {
					t.Errorf("got %v, want %s", err, tc.at)
				}
				return
			}
			if fmt.Sprint(at) != tc.at || len(at) == 0 {
				t.Errorf("got %v, want %s", at, tc.at)
			}
		})
	}
}

func TestAnyPlacementKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"", "a", "b", "c", "d"}
		var nodes []Node
		for _, id := range ids[:rapid.IntRange(1, 5).Draw(t, "nodes")] {
			n := Node{ID: id, Online: rapid.Bool().Draw(t, "online"), Load: rapid.IntRange(0, 3).Draw(t, "load")}
			if rapid.IntRange(0, 3).Draw(t, "closed") == 0 {
				n.Closed = "it is cordoned"
			}
			n.Lost = !n.Online && rapid.Bool().Draw(t, "lost")
			nodes = append(nodes, n)
		}
		w := Want{
			App: "shop", Replicas: rapid.IntRange(0, 7).Draw(t, "replicas"), Spread: rapid.Bool().Draw(t, "spread"), Stay: rapid.Bool().Draw(t, "stay"),
			Has: rapid.SliceOfN(rapid.SampledFrom(append(ids, "gone")), 0, 7).Draw(t, "has"),
		}
		had := slices.Clone(w.Has)
		at, err := Place(w, nodes)
		again, _ := Place(w, slices.Concat(nodes[1:], nodes[:1]))
		if !slices.Equal(at, again) || !slices.Equal(had, w.Has) {
			t.Fatalf("%v, and %v with the nodes in another order; asked with %v, then %v", at, again, had, w.Has)
		}
		by := map[string]Node{}
		open := map[string]int{}
		for _, n := range nodes {
			by[n.ID] = n
			if n.Online && n.Closed == "" {
				open[n.ID] = 0
			}
		}
		if err != nil {
			if len(open) > 0 {
				t.Fatalf("%v, and %v are open", err, open)
			}
			return
		}
		for i, id := range at {
			n, known := by[id]
			_, fits := open[id]
			stayed := (w.Stay || !w.Spread) && len(had) > 0 && had[i%len(had)] == id
			if !known || n.Lost || !fits && !stayed {
				t.Fatalf("replica %d on %q of %v", i, id, nodes)
			}
			if w.Stay && len(had) > 0 && !w.Spread == (i == 0) {
				if before, ok := by[had[i%len(had)]]; ok && !before.Lost && before.ID != id {
					t.Fatalf("replica %d left %q for %q, and nothing was wrong with it", i, before.ID, id)
				}
			}
			if fits {
				open[id]++
			}
		}
		if w.Spread && !w.Stay {
			least, most := 1000, 0
			for _, n := range open {
				least, most = min(least, n), max(most, n)
			}
			if most-least > 1 {
				t.Fatalf("%v is uneven over %v", at, open)
			}
		}
	})
}
