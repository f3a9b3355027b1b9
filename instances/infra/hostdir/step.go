package hostdir

// Step is one effect. It can be made again after it was made, wholly or in part.
type Step struct {
	name string
	make func() error
}

// Do is a step with the name that Machines.Before is told.
func Do(name string, effect func() error) Step { return Step{name, effect} }

// Take makes the steps, one after the other, up to the first that fails.
func (m *Machines[T, P]) Take(steps ...Step) error {
	for _, s := range steps {
		if err := m.Before(s.name); err != nil {
			return err
		}
		if err := s.make(); err != nil {
			return err
		}
	}
	return nil
}
