package secrets

import "fmt"

// maxScrubNodes bounds the memory of a matcher, at 20 bytes a node.
const maxScrubNodes = 1 << 20

// matcher finds many patterns in one pass over a text (Aho and Corasick): a node
// is the longest end of the text that begins a pattern.
type matcher struct {
	nodes []node
	root  [256]int32 // the nodes of depth one, by byte
}

type node struct {
	child, sibling int32 // 0: none, since the root is nobody's child
	fail           int32
	depth          int16
	match          int16 // length of the longest pattern that ends here, 0: none
	b              byte
}

func newMatcher() *matcher { return &matcher{nodes: make([]node, 1)} }

// add adds a pattern of at most scrubPart bytes.
func (m *matcher) add(pattern []byte) error {
	if len(pattern) < minScrub {
		return nil
	}
	at := int32(0)
	for _, b := range pattern {
		next := m.child(at, b)
		if next == 0 {
			if len(m.nodes) >= maxScrubNodes {
				return fmt.Errorf("%w: so many values cannot be scrubbed from one text", ErrTooLarge)
			}
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{sibling: m.nodes[at].child, depth: m.nodes[at].depth + 1, b: b})
			m.nodes[at].child = next
			if at == 0 {
				m.root[b] = next
			}
		}
		at = next
	}
	m.nodes[at].match = int16(len(pattern))
	return nil
}

func (m *matcher) child(at int32, b byte) int32 {
	if at == 0 {
		return m.root[b]
	}
	c := m.nodes[at].child
	for c != 0 && m.nodes[c].b != b {
		c = m.nodes[c].sibling
	}
	return c
}

// link sets where each node goes on when its text does, level by level.
func (m *matcher) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := m.nodes[at].child; c != 0; c = m.nodes[c].sibling {
			if at != 0 {
				m.nodes[c].fail = m.next(m.nodes[at].fail, m.nodes[c].b)
			}
			m.nodes[c].match = max(m.nodes[c].match, m.nodes[m.nodes[c].fail].match)
			queue = append(queue, c)
		}
	}
}

// next is the node after one more byte.
func (m *matcher) next(at int32, b byte) int32 {
	for {
		if c := m.child(at, b); c != 0 || at == 0 {
			return c
		}
		at = m.nodes[at].fail
	}
}

// pass is one text on its way through a matcher.
type pass struct {
	found *matcher
	at    int32
	held  []byte // the bytes that may yet be part of a match
	hide  []bool // which of them are part of one already
	// hiding: the last byte that went out was hidden, and Redacted written for it.
	hiding bool
}

// feed appends to out what of the text, and of what was held, is certain.
func (p *pass) feed(out, text []byte) []byte {
	for _, b := range text {
		p.at = p.found.next(p.at, b)
		p.held, p.hide = append(p.held, b), append(p.hide, false)
		n := p.found.nodes[p.at]
		for i := len(p.hide) - int(n.match); i < len(p.hide); i++ {
			p.hide[i] = true
		}
		// A match that is still to come begins within the node's text.
		if sure := len(p.held) - int(n.depth); sure > 0 {
			out = p.release(out, sure)
		}
	}
	return out
}

// end appends all that is held and begins a new text.
func (p *pass) end(out []byte) []byte {
	out = p.release(out, len(p.held))
	p.at, p.hiding = 0, false
	return out
}

func (p *pass) release(out []byte, n int) []byte {
	for i, b := range p.held[:n] {
		if !p.hide[i] {
			out = append(out, b)
		} else if !p.hiding {
			out = append(out, Redacted...)
		}
		p.hiding = p.hide[i]
	}
	p.held = p.held[:copy(p.held, p.held[n:])]
	p.hide = p.hide[:copy(p.hide, p.hide[n:])]
	return out
}
