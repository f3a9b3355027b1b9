package group

// drifted reports whether a machine is made of something else than its group is now.
// What is not known on either side is no difference.
func (o *Observed) drifted(m *Member) bool {
	return m.Hash != "" && o.Want.Hash != "" && m.Hash != o.Want.Hash
}
