package hub

const releasedText = "another process takes the machines of this one"

// Release parts with every machine, for a process that is about to end while another one
// has its address already: each is told to connect anew, at once. What Dial has handed out
// stays until it is closed or Serve ends; from now on every machine is offline here. The
// caller has seen to it that no more connections come to this hub.
func (h *Hub) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	for _, s := range h.sessions {
		s.mu.Lock()
		s.reason = releasedText
		s.mu.Unlock()
		h.depart(s)
		s.retire()
	}
}
