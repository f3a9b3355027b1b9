package group

import "slices"

// mayLaunch reports whether failures let another launch be tried now.
func (d *decider) mayLaunch() bool {
	if d.Now.Before(d.Launch.NotBefore) {
		d.wake(d.Launch.NotBefore)
		return false
	}
	return true
}

// launch makes n machines; after a failure one by one, until one has registered.
func (d *decider) launch(n int) {
	if n <= 0 || !d.mayLaunch() {
		return
	}
	if d.Launch.Failures > 0 {
		for _, m := range d.staying {
			if d.stage[m.ID].comes() {
				return // let us see what becomes of that one
			}
		}
		n = 1
	}
	for range n {
		d.do(Action{Kind: Launch, Why: "there are too few"})
	}
}

// resume goes on with creates of which it is not known what became, at once and not
// only when their time is over: until then they count. Those that go are let be.
func (d *decider) resume() {
	for _, m := range d.all {
		if m.OnDemand || m.Unclear || d.stage[m.ID] != stagePending || d.Want.Absent || !d.mayLaunch() || d.goes(m) {
			continue
		}
		if d.Now.Before(m.RetryAt) {
			d.wake(m.RetryAt)
			continue
		}
		d.do(Action{Kind: Resume, ID: m.ID, Why: "it is not known to be there yet"})
	}
}

// goes reports whether it was decided to remove a machine.
func (d *decider) goes(m *Member) bool {
	return slices.ContainsFunc(d.out.Actions, func(a Action) bool { return a.Kind == Remove && a.ID == m.ID })
}
