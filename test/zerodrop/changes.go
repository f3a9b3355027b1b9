package main

import "fmt"

// verb is what is done to the service.
type verb string

const (
	doImage     verb = "image"                // another image
	doSettings  verb = "variables and limits" // another environment and memory limit
	doGroup     verb = "group"                // an init and a sidecar, in another version
	doRestart   verb = "restart"
	doScaleUp   verb = "scale up"
	doScaleDown verb = "scale down"
	doRollback  verb = "rollback"
)

// entry is one step of a plan.
type entry struct {
	verb     verb
	strategy strategy // of applies; the others keep or bring back that of an apply
	by       int      // replicas more or less
}

var (
	addFirst  = strategy{"1", "0"}     // one more, then one less
	dropFirst = strategy{"0", "1"}     // one less, then one more
	byShare   = strategy{"50%", "34%"} // of 3 replicas: two more, one less
	allAtOnce = strategy{"100%", "0"}
)

// fullPlan has every kind of change. Rollbacks follow closely on what they undo:
// they may find the release before still draining and take it back.
var fullPlan = []entry{
	{verb: doImage},
	{verb: doRollback},
	{verb: doGroup},
	{verb: doRestart},
	{verb: doScaleUp, by: 1},
	{verb: doScaleDown, by: -1},
	{verb: doImage, strategy: addFirst},
	{verb: doRestart},
	{verb: doGroup, strategy: byShare},
	{verb: doRollback},
	{verb: doSettings},
	{verb: doScaleUp, by: 2},
	{verb: doScaleDown, by: -2},
	{verb: doImage, strategy: dropFirst},
	{verb: doGroup, strategy: addFirst},
	{verb: doScaleUp, by: 1},
	{verb: doScaleDown, by: -1},
	{verb: doGroup},
	{verb: doSettings},
	{verb: doRollback},
	{verb: doRestart},
	{verb: doImage, strategy: allAtOnce},
	{verb: doRestart},
	{verb: doImage},
}

// shortPlan has what differs most.
var shortPlan = []entry{
	{verb: doImage},
	{verb: doImage, strategy: allAtOnce},
	{verb: doRestart},
}

// kind is what changes are counted by.
type kind string

func (v verb) kind(s strategy) kind {
	switch v {
	case doScaleUp, doScaleDown:
		return kind(v) // has nothing of the strategy
	case doRestart, doRollback:
		if s.rolling() {
			return kind(v + ", rolling")
		}
	}
	return kind(fmt.Sprintf("%s, %s", v, s))
}

// change is one step from a shape to the next.
type change struct {
	number int // from 1
	verb   verb
	to     shape
}

func (c change) kind() kind { return c.verb.kind(c.to.strategy) }

// brings says that the change is sure to be made with new containers.
func (c change) brings() bool { return c.verb != doRollback && c.verb != doScaleDown }

// moves says that another release takes over.
func (c change) moves() bool { return c.verb != doScaleUp && c.verb != doScaleDown }

// ends says that containers go.
func (c change) ends() bool { return c.verb != doScaleUp }

func (c change) String() string {
	return fmt.Sprintf("change %d (%s, to version %s on %d replicas)", c.number, c.kind(), c.to.serves(), c.to.replicas)
}

// history makes changes. Half of the releases stand a stop badly: one that comes
// too early is seen by what it cuts, and with the others by what a program that
// stops says to its clients.
type history struct {
	now    shape
	before content // of the release before, which a rollback goes to
	made   int
}

func newHistory(replicas int) *history {
	first := content{memory: firstMem, abrupt: true}
	return &history{now: shape{content: first, replicas: replicas}, before: first}
}

func (h *history) next(e entry) change {
	h.made++
	to := h.now
	switch e.verb {
	case doImage:
		to.content = content{strategy: e.strategy, image: 1 - to.image, memory: to.memory, abrupt: !to.abrupt}
	case doSettings, doGroup:
		to.content = content{
			strategy: e.strategy, image: to.image, version: fmt.Sprintf("c%d", h.made), memory: fmt.Sprintf("%dMi", 96+h.made), abrupt: !to.abrupt,
			group: e.verb == doGroup, early: e.strategy.rolling(),
		}
	case doRollback:
		to.content = h.before
	case doScaleUp, doScaleDown:
		to.replicas += e.by
	case doRestart:
	}
	c := change{number: h.made, verb: e.verb, to: to}
	if c.moves() {
		h.before = h.now.content
	}
	h.now = to
	return c
}

// steps are the changes of a plan, which begins anew until there are enough.
func (h *history) steps(plan []entry, enough int) []change {
	var out []change
	for len(out) < enough || len(out)%len(plan) != 0 {
		out = append(out, h.next(plan[len(out)%len(plan)]))
	}
	return out
}

// kindsOf are the kinds of a plan's changes, in the order of their first.
func kindsOf(plan []entry) []kind {
	var out []kind
	seen := map[kind]bool{}
	for _, c := range newHistory(1).steps(plan, len(plan)) {
		if k := c.kind(); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}
