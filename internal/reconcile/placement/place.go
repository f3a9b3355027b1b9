package placement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Node is a machine that apps may run on.
type Node struct {
	ID     string // "" is this machine
	Name   string // for messages; "" is ID
	Labels map[string]string
	Online bool
	// Closed says why nothing new is placed here, a clause such as "it is cordoned"; "" is
	// open.
	Closed string
	// Leave: an app that is placed whole is not to stay here either. One that is closed
	// otherwise keeps those that it has.
	Leave bool
	// Lost: what ran here is given up.
	Lost bool
	// Awaited: it is offline, and expected back in a moment.
	Awaited bool
	Load    int // replicas of all apps that are placed here
}

// Want is what one app asks for.
type Want struct {
	App      string
	Replicas int // of its largest service
	// Node is the id or the name of the one that it has to be on, "" for any.
	Node   string
	Labels map[string]string // that its nodes have to have
	Spread bool
	// Fixed says why it cannot be moved, a clause such as "volume data is there"; "" is
	// movable.
	Fixed string
	// Has is where it is now, by replica; none: nowhere yet.
	Has []string
	// Stay leaves every replica where it is whose node is not lost: nothing about the app
	// has changed.
	Stay bool
}

// ErrNoNode: there is no node that an app may run on.
var ErrNoNode = errors.New("no node to run on")

// ErrAwaited: a node that an app may run on is expected back in a moment, and without it
// the app would be placed otherwise.
var ErrAwaited = errors.New("a node is expected back in a moment")

// Place decides where an app runs, a node for each replica. Errors: ErrNoNode, which says
// of each node why it is none, and ErrAwaited.
func Place(w Want, nodes []Node) ([]string, error) {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	p := placing{w: w, placed: map[string]int{}, byID: map[string]*Node{}}
	for i := range nodes {
		n := &nodes[i]
		p.byID[n.ID] = n
		if why := p.unfit(n); why == "" {
			p.open = append(p.open, n)
		} else {
			p.unfits = append(p.unfits, n.name()+": "+why)
		}
		if p.awaits(n) {
			p.awaited = n
		}
	}
	switch {
	case w.Fixed != "" && len(w.Has) > 0:
		return p.fixed()
	case w.Spread:
		return p.spread()
	}
	return p.whole()
}

type placing struct {
	w      Want
	open   []*Node // that may get something, by id
	unfits []string
	byID   map[string]*Node
	placed map[string]int // replicas of this app, by node
	// awaited is a node that the app may run on in a moment; nil: there is none.
	awaited *Node
}

func (n *Node) name() string {
	switch {
	case n.Name != "":
		return n.Name
	case n.ID == "":
		return "local"
	}
	return n.ID
}

// unfit says why nothing of the app may come to a node.
func (p *placing) unfit(n *Node) string {
	switch {
	case n.Lost:
		return "it is lost"
	case !n.Online:
		return "it is offline"
	case n.Closed != "":
		return n.Closed
	}
	return p.asked(n)
}

// awaits reports whether a node is worth waiting for. Of one that the app has, it may not be
// known yet what it is.
func (p *placing) awaits(n *Node) bool {
	return n.Awaited && !n.Online && !n.Lost && n.Closed == "" && (p.asked(n) == "" || slices.Contains(p.w.Has, n.ID))
}

func (p *placing) wait() error {
	return fmt.Errorf("%w: app %s: %s", ErrAwaited, p.w.App, p.awaited.name())
}

// asked says what the app asks for that a node is not.
func (p *placing) asked(n *Node) string {
	if p.w.Node != "" && p.w.Node != n.name() && p.w.Node != n.ID {
		return "the app asks for " + p.w.Node
	}
	for _, k := range slices.Sorted(maps.Keys(p.w.Labels)) {
		if n.Labels[k] != p.w.Labels[k] {
			return fmt.Sprintf("it has not the label %s=%s", k, p.w.Labels[k])
		}
	}
	return ""
}

func (p *placing) none() error {
	why := strings.Join(p.unfits, "; ")
	if why == "" {
		why = "there is none"
	}
	return fmt.Errorf("%w: app %s: %s", ErrNoNode, p.w.App, why)
}

// fixed leaves an app where it is. Where its node is gone, and with it what its volumes had,
// it is for a person to begin anew.
func (p *placing) fixed() ([]string, error) {
	at := p.w.Has[0]
	switch {
	case p.byID[at] == nil:
		return nil, fmt.Errorf("%w: app %s was on %s, which is gone, and %s; to begin anew with empty volumes, delete the app and apply it again",
			ErrNoNode, p.w.App, at, p.w.Fixed)
	case p.w.Node != "" && !slices.Contains(p.w.Has, p.w.Node) && p.byID[at].name() != p.w.Node:
		return nil, fmt.Errorf("%w: app %s asks for node %s and cannot leave %s: %s", ErrNoNode, p.w.App, p.w.Node, p.nameOf(at), p.w.Fixed)
	}
	return slices.Clone(p.w.Has), nil
}

func (p *placing) nameOf(id string) string {
	if n := p.byID[id]; n != nil {
		return n.name()
	}
	return id
}

// stays reports whether a replica may go on where it is.
func (p *placing) stays(id string) bool {
	n := p.byID[id]
	if p.w.Stay {
		return n != nil && !n.Lost
	}
	return slices.Contains(p.open, n)
}

// whole leaves an app where it is for as long as it can: its services may be changed one
// by one, and are to find each other meanwhile.
func (p *placing) whole() ([]string, error) {
	if len(p.w.Has) > 0 {
		n := p.byID[p.w.Has[0]]
		if n != nil && !n.Lost && (p.w.Stay || !n.Leave && p.asked(n) == "") {
			return p.w.Has[:1:1], nil
		}
	}
	n := p.least()
	switch {
	case n == nil && p.awaited != nil:
		return nil, p.wait()
	case n == nil:
		return nil, p.none()
	}
	return []string{n.ID}, nil
}

// spread keeps what may stay, as far as no node has more than its share, and gives the
// rest to those that have least. It waits for a node that takes a share: what is spread
// without it stays so until the next change.
func (p *placing) spread() ([]string, error) {
	if p.awaited != nil {
		return nil, p.wait()
	}
	out := make([]string, max(p.w.Replicas, 1))
	share := len(out)
	if !p.w.Stay && len(p.open) > 0 {
		share = (len(out) + len(p.open) - 1) / len(p.open)
	}
	missing := make([]bool, len(out))
	for i := range out {
		if len(p.w.Has) > 0 {
			out[i] = p.w.Has[i%len(p.w.Has)]
		}
		missing[i] = len(p.w.Has) == 0 || !p.stays(out[i]) || p.placed[out[i]] >= share
		if !missing[i] {
			p.placed[out[i]]++
		}
	}
	for i := range out {
		if !missing[i] {
			continue
		}
		n := p.least()
		if n == nil {
			return nil, p.none()
		}
		out[i] = n.ID
		p.placed[n.ID]++
	}
	return p.even(out), nil
}

// even moves replicas until no open node has two more than another: the shares are
// rounded up, and what stayed may fill them unevenly.
func (p *placing) even(out []string) []string {
	for !p.w.Stay && len(p.open) > 1 {
		by := func(a, b *Node) int { return cmp.Compare(p.placed[a.ID], p.placed[b.ID]) }
		most, least := slices.MaxFunc(p.open, by), slices.MinFunc(p.open, by)
		if p.placed[most.ID]-p.placed[least.ID] < 2 {
			break
		}
		for i := len(out) - 1; i >= 0; i-- {
			if out[i] == most.ID {
				out[i] = least.ID
				break
			}
		}
		p.placed[most.ID]--
		p.placed[least.ID]++
	}
	return out
}

// least is the open node with the fewest replicas of the app, then of all apps, then by
// id; nil: there is none.
func (p *placing) least() *Node {
	if len(p.open) == 0 {
		return nil
	}
	return slices.MinFunc(p.open, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(p.placed[a.ID], p.placed[b.ID]), cmp.Compare(a.Load, b.Load), cmp.Compare(a.ID, b.ID))
	})
}
