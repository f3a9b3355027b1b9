package group

// remove has a machine removed, unless a try has just been made.
func (d *decider) remove(m *Member, why string) {
	if d.Now.Before(m.RetryAt) {
		d.wake(m.RetryAt)
		return
	}
	d.do(Action{Kind: Remove, ID: m.ID, Why: why, Failed: d.failed(m)})
}

// failed reports whether the removal of a machine shows that launches do not work: it
// never registered in time, or was never heard of.
func (d *decider) failed(m *Member) bool {
	s := d.stage[m.ID]
	return !m.OnDemand && (s == stageLate || s == stageDraining && m.HeardAt.IsZero() && m.RegisteredAt.After(d.Since))
}

// terminate goes on with what leaves already.
func (d *decider) terminate() {
	for _, m := range d.all {
		if s := d.stage[m.ID]; !m.OnDemand && (s == stageLeaving || s == stageGone || s == stageLate) {
			d.leaving++
		}
		switch d.stage[m.ID] {
		case stageLeaving:
			d.wake(d.Now.Add(d.Timing.Retry))
			d.remove(m, "it is being removed")
		case stageGone:
			d.remove(m, "the provider says that it is gone")
		case stageLate:
			if !m.OnDemand {
				d.late++
				d.remove(m, "it did not register in time")
			}
		case stageDoomed:
			d.drain(m, "it is going to be taken away")
		case stageDraining:
			if !m.OnDemand {
				d.drains++
			}
			d.drain(m, "it is drained")
		}
	}
}
