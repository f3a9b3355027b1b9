package fleet

// Remembered is how many apps' placements are kept.
func (f *Fleet) Remembered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.placed.of)
}
