package fleet

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// node is what was seen of one node. The fleet's lock guards it, but for making.
type node struct {
	seen      map[string]*sighting            // by container id, or by the key of one whose id nobody learnt
	byService map[string]map[string]*sighting // by service label, then as seen; the same by address
	byName    map[string]*sighting
	byAddress map[netip.Addr]map[string]*sighting
	volumes   map[string]docker.Volume

	// complete: all that is ours there was listed once. What is not among the seen is not
	// there then, as only this fleet makes it.
	complete bool
	session  time.Time // the connection in which that was last done
	retry    time.Time // not to be tried before, as it failed in the connection of
	failed   time.Time
	listing  chan struct{} // held while it is done

	networks map[string]docker.NetworkDetail // of apps, as they were found right
	making   chan struct{}                   // held while one is made
}

// sighting is a container as it was last seen, or one that may have been made.
type sighting struct {
	state docker.ContainerState
	key   string
	// maybe: a call to make it had no answer, or has none yet.
	maybe   bool
	pending int // such calls under way
	misses  int // answers in which it was missing
	at      uint64
}

// enoughMisses is how many answers have to agree that a container is no more: one may be
// short.
const enoughMisses = 2

// node returns what was seen of a node, making room for it. The caller holds the lock.
func (f *Fleet) node(id string) *node {
	n := f.nodes[id]
	if n == nil {
		n = &node{
			seen: map[string]*sighting{}, byService: map[string]map[string]*sighting{}, byName: map[string]*sighting{},
			byAddress: map[netip.Addr]map[string]*sighting{},
			volumes:   map[string]docker.Volume{}, networks: map[string]docker.NetworkDetail{},
			listing: make(chan struct{}, 1), making: make(chan struct{}, 1),
		}
		f.nodes[id] = n
	}
	return n
}

// moment is now, in the order in which things are learnt.
func (f *Fleet) moment() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	return f.seq
}

func (n *node) put(s *sighting) {
	if old := n.byName[s.state.Name]; old != nil && old != s && old.key != s.key {
		n.drop(old)
	}
	if old := n.seen[s.key]; old != nil && old != s {
		n.drop(old)
	}
	n.seen[s.key], n.byName[s.state.Name] = s, s
	enter(n.byService, s.state.Labels[docker.LabelService], s)
	enter(n.byAddress, s.state.Address, s)
}

func enter[K comparable](index map[K]map[string]*sighting, k K, s *sighting) {
	if index[k] == nil {
		index[k] = map[string]*sighting{}
	}
	index[k][s.key] = s
}

func leave[K comparable](index map[K]map[string]*sighting, k K, s *sighting) {
	if delete(index[k], s.key); len(index[k]) == 0 {
		delete(index, k)
	}
}

func (n *node) drop(s *sighting) {
	delete(n.seen, s.key)
	if n.byName[s.state.Name] == s {
		delete(n.byName, s.state.Name)
	}
	leave(n.byService, s.state.Labels[docker.LabelService], s)
	leave(n.byAddress, s.state.Address, s)
}

// find returns what is known by an id or a name.
func (n *node) find(ref string) *sighting {
	if n == nil {
		return nil
	}
	if s := n.seen[ref]; s != nil {
		return s
	}
	return n.byName[ref]
}

// matching are those that carry the labels.
func (n *node) matching(labels map[string]string) []*sighting {
	if n == nil {
		return nil
	}
	from := n.seen
	if service := labels[docker.LabelService]; service != "" {
		from = n.byService[service]
	}
	var out []*sighting
	for _, s := range from {
		if carries(s.state.Labels, labels) {
			out = append(out, s)
		}
	}
	return out
}

// carries reports whether have holds every wanted label; "" wants any value.
func carries(have, want map[string]string) bool {
	for k, v := range want {
		got, ok := have[k]
		if !ok || v != "" && got != v {
			return false
		}
	}
	return true
}

// learnList takes in a listing by labels that began at a moment. all says that it was by
// nothing but the label that marks ours.
func (f *Fleet) learnList(id string, labels map[string]string, list []docker.ContainerState, began uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.node(id)
	f.seq++
	there := make(map[string]bool, len(list))
	for i := range list {
		s := list[i]
		s.Node, s.Away = id, false
		there[s.ID] = true
		old := n.seen[s.ID]
		if old != nil && old.at > began {
			continue // learnt meanwhile
		}
		n.put(&sighting{state: s, key: s.ID, at: f.seq})
	}
	for _, s := range n.matching(labels) {
		if !there[s.key] && s.at < began && s.pending == 0 {
			f.missed(n, s)
		}
	}
}

// missed notes that an answer did not have it.
func (f *Fleet) missed(n *node, s *sighting) {
	if s.misses++; s.misses >= enoughMisses {
		n.drop(s)
	}
}

// learn takes in one container as it was inspected.
func (f *Fleet) learn(id string, s docker.ContainerState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Node, s.Away = id, false
	f.seq++
	f.node(id).put(&sighting{state: s, key: s.ID, at: f.seq})
}

// notThere takes in that a node said that it has no such container.
func (f *Fleet) notThere(id, ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[id]
	if s := n.find(ref); s != nil && s.pending == 0 {
		f.missed(n, s)
	}
}

// removed notes that it was asked to go, and the node said that it has.
func (f *Fleet) removed(id, ref string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.nodes[id]
	if s := n.find(ref); s != nil {
		f.seq++
		s.misses, s.at = enoughMisses-1, f.seq
	}
}

// became notes a status that a call or an event brought about.
func (f *Fleet) became(id, ref string, status docker.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.nodes[id].find(ref); s != nil && !s.maybe {
		f.seq++
		s.state.Status, s.state.Full, s.at = status, false, f.seq
	}
}

// ended notes that a container was stopped.
func (f *Fleet) ended(id, ref string) {
	f.mu.Lock()
	s := f.nodes[id].find(ref)
	ran := s != nil && s.state.Status != docker.StatusCreated
	f.mu.Unlock()
	if ran {
		f.became(id, ref, docker.StatusExited)
	}
}

// recall is what was last seen on a node of what carries the labels and counts, marked as
// away.
func (r *roll) recall(id string, labels map[string]string) []docker.ContainerState {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	var out []docker.ContainerState
	for _, s := range r.f.nodes[id].matching(labels) {
		if s.maybe || !r.counts(id, s) {
			continue
		}
		st := copyOf(&s.state)
		st.Full, st.Away = false, true
		out = append(out, st)
	}
	return out
}

func copyOf(s *docker.ContainerState) docker.ContainerState {
	out := *s
	out.Labels = maps.Clone(s.Labels)
	out.Networks, out.Mounts, out.Ports = slices.Clone(s.Networks), slices.Clone(s.Mounts), slices.Clone(s.Ports)
	return out
}

// mightHave reports whether a container of that id or name may be on a node, by what was
// seen of it. Of nodes on which nobody has looked yet only those that the app is placed on
// may have it: else a single host that does not come up would hold every app back. What is
// there all the same goes with the sweep of the node, once it is back. To the view of all
// nodes any may have it.
func (v *view) mightHave(r *roll, id, ref string) bool {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	n := r.f.nodes[id]
	return r.find(id, ref) != nil || (n == nil || !n.complete) && (len(v.nodes) == 0 || r.stands(id) == online || slices.Contains(v.nodes, id))
}

// has reports whether any container with the labels was seen on a node.
func (f *Fleet) has(id string, labels map[string]string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.nodes[id].matching(labels)) > 0
}
