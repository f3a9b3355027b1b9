package hosting

// Knows reports whether there is anything of a lease here: one that is not known has
// been given up and taken down, its callbacks being with the outbox.
func (h *Hosting) Knows(lease string) bool {
	return lease == Reaper || h.rows.get(lease).row != nil || h.rows.inDoubt(lease)
}
