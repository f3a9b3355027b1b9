package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// place is where a rollout is, as doc.go draws it.
type place struct {
	state State
	phase Phase
}

func (p place) String() string { return string(p.state) + " " + string(p.phase) }

var (
	atPending   = place{StatePending, ""}
	atApply     = place{StateRunning, PhaseApply}
	atAwait     = place{StateRunning, PhaseAwait}
	atUndo      = place{StateRunning, PhaseUndo}
	atUndoAwait = place{StateRunning, PhaseUndoAwait}
	succeeded   = place{StateSucceeded, ""}
	failed      = place{StateFailed, ""}
	rolledBack  = place{StateRolledBack, ""}
	cancelled   = place{StateCancelled, ""}
)

// moves is the table of transitions. A rollout may also stay where it is, which
// records a failed call, progress or a cancel.
var moves = map[place][]place{
	atPending:   {atApply, cancelled, failed},
	atApply:     {atAwait, atUndo, failed, cancelled},
	atAwait:     {atApply, atUndo, succeeded, failed, cancelled},
	atUndo:      {atUndoAwait, failed, cancelled},
	atUndoAwait: {atUndo, rolledBack, cancelled, failed},
}

// auditor holds every write against the rules of doc.go.
type auditor struct {
	t    interface{ Fatalf(string, ...any) }
	seen map[string]int     // moves that happened
	rels map[string]Release // by workload and version
}

func (a *auditor) write(_ string, before, after []byte) {
	next, err := decode(after)
	if err != nil {
		a.t.Fatalf("written: %v", err)
	}
	if len(before) == 0 {
		clear(a.rels) // the workload begins, or begins again after it was removed
	}
	prior := &record{}
	if len(before) > 0 {
		prior, err = decode(before)
		if err != nil {
			a.t.Fatalf("found: %v", err)
		}
	}
	open := 0
	for i := range next.Rollouts {
		ro := &next.Rollouts[i]
		if !ro.Ended() {
			open++
		}
		a.rollout(prior.rollout(ro.ID), ro)
	}
	if open > 1 || (open == 1) == next.Open.IsNil() {
		a.t.Fatalf("%d rollouts are open, Open is %q", open, next.Open)
	}
	for i := range next.Releases {
		a.release(&next.Releases[i], next.NextVersion)
	}
	if cur := next.release(next.Current); !next.Current.IsNil() && (cur == nil || cur.ServedAt == nil) {
		a.t.Fatalf("the current release %s is not there or never served", next.Current)
	}
	if prior.Current != next.Current {
		if ro := next.rollout(prior.Open); ro == nil || ro.State != StateSucceeded || ro.Release != next.Current {
			a.t.Fatalf("the current release changed without a rollout that succeeded: %+v", ro)
		}
	}
}

func (a *auditor) rollout(was, is *Rollout) {
	to := place{is.State, is.Phase}
	if was == nil {
		if to != atPending {
			a.t.Fatalf("a rollout began as %s", to)
		}
		return
	}
	from := place{was.State, was.Phase}
	if was.Ended() {
		if !reflect.DeepEqual(was, is) {
			a.t.Fatalf("a rollout that had ended was changed: %+v, %+v", was, is)
		}
		return
	}
	if was.CancelWanted && !is.CancelWanted {
		a.t.Fatalf("a cancel was lost: %+v, %+v", was, is)
	}
	if was.CancelWanted && is.State == StateSucceeded {
		a.t.Fatalf("a cancelled rollout succeeded: %+v", is)
	}
	if from == to {
		return
	}
	for _, p := range moves[from] {
		if p == to {
			a.seen[from.String()+" > "+to.String()]++
			return
		}
	}
	a.t.Fatalf("a rollout moved from %s to %s", from, to)
}

// release checks that content and version of a release stay, unless it never got
// to the provider.
func (a *auditor) release(rel *Release, next int64) {
	key := fmt.Sprintf("%s %d", rel.Workload, rel.Version)
	hash, err := contentHash(rel.Services)
	if err != nil || hash != rel.Hash || rel.Version < 1 || rel.Version >= next {
		a.t.Fatalf("release %+v: content %s, %v; next version %d", rel, hash, err, next)
	}
	if was, ok := a.rels[key]; ok && (was.ID != rel.ID || was.Hash != rel.Hash) {
		a.t.Fatalf("version %d was %s and is %s", rel.Version, was.ID, rel.ID)
	}
	a.rels[key] = *rel
}

// runner is one run of the model: a user, a provider with moods and a clock.
type runner struct {
	*world
	rt *rapid.T
	n  int
}

func TestRolloutsMoveAsDrawn(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, Options{Policy: Policy{
			Deadline: time.Minute, UndoDeadline: time.Minute, KeepFailed: rapid.Bool().Draw(rt, "keep failed"), KeepReleases: 2, KeepRollouts: 4,
		}})
		a := &auditor{t: rt, seen: seen, rels: map[string]Release{}}
		w.store.watch = a.write
		w.fake.answer = func(string) error {
			switch rapid.IntRange(0, 20).Draw(rt, "answer") {
			case 0:
				return provider.ErrUnavailable
			case 1:
				return fmt.Errorf("odd")
			case 2:
				return provider.ErrNotSupported
			default:
				return nil
			}
		}
		w.store.refuse = func() error {
			if rapid.IntRange(0, 20).Draw(rt, "write") == 0 {
				return provider.ErrUnavailable
			}
			return nil
		}
		r := &runner{world: w, rt: rt}
		rt.Repeat(map[string]func(*rapid.T){
			"deprovision": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "sure") == 0 {
					_ = w.Deprovision(w.ctx(), w.workload)
				}
			},
			"provision": func(*rapid.T) { _, _ = w.Provision(w.ctx(), "here", w.request(), With{}) },
			"deploy":    r.deploy,
			"rollback":  r.rollback,
			"cancel":    r.cancel,
			"step":      r.step,
			"wait": func(rt *rapid.T) {
				w.clock = w.clock.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(rt, "for"))
			},
			"restart": func(*rapid.T) { w.Manager = w.manager(w.store, w.registry, w.opts); _, _ = w.Resume(w.ctx()) },
			"meddle":  r.meddle,
		})
		r.end()
	})
	t.Logf("%d different moves were seen", len(seen))
}

func (r *runner) deploy(rt *rapid.T) {
	r.n++
	tag := rapid.SampledFrom([]string{"1", "2", "3", "broken", "slow", fmt.Sprint("new-", r.n)}).Draw(rt, "tag")
	service := rapid.SampledFrom([]string{"web", "cache"}).Draw(rt, "service")
	_, _ = r.Deploy(r.ctx(), r.change(image(service, service+":"+tag)), With{})
}

func (r *runner) rollback(rt *rapid.T) {
	releases, _, err := r.Releases(r.ctx(), r.workload, Page{})
	if err != nil {
		return // it was removed
	}
	to := id.Nil
	if i := rapid.IntRange(0, len(releases)).Draw(rt, "to"); i > 0 {
		to = releases[i-1].ID
	}
	_, _ = r.Rollback(r.ctx(), r.workload, to, With{})
}

func (r *runner) cancel(*rapid.T) {
	rollouts, _, err := r.Rollouts(r.ctx(), r.workload, Page{Limit: 1})
	if err == nil && len(rollouts) > 0 {
		_, _ = r.Cancel(r.ctx(), r.workload, rollouts[0].ID)
	}
}

func (r *runner) step(rt *rapid.T) {
	wait, err := r.Step(r.ctx(), r.workload)
	if errors.Is(err, ErrRecord) {
		rt.Fatalf("step: %v", err)
	}
	r.clock = r.clock.Add(wait)
}

// meddle makes the provider pursue another release, as a late call would.
func (r *runner) meddle(rt *rapid.T) {
	in := r.fake.instances[r.workload]
	if in == nil {
		return
	}
	known := slices.SortedFunc(maps.Keys(in.releases), func(a, b id.ID) int { return cmp.Compare(a.String(), b.String()) })
	in.pursue(rapid.SampledFrom(known).Draw(rt, "release"))
}

// end lets the provider be well, and checks that everything comes to rest and that
// a deploy works then.
func (r *runner) end() {
	r.fake.answer, r.store.refuse = nil, nil
	for range 1000 {
		wait, err := r.Step(r.ctx(), r.workload)
		if err != nil {
			r.rt.Fatalf("step: %v", err)
		}
		if wait == 0 {
			break
		}
		r.clock = r.clock.Add(wait)
	}
	rec, _, err := r.load(r.ctx(), r.workload)
	if errors.Is(err, provider.ErrNotFound) {
		if len(r.fake.instances) != 0 {
			r.rt.Fatalf("without a record the provider has %v", r.fake.instances)
		}
		return
	}
	if err != nil || !rec.Open.IsNil() {
		r.rt.Fatalf("at rest: %+v, %v", rec, err)
	}
	if len(rec.Rollouts) > 4 || len(rec.Releases) > 2+2 {
		r.rt.Fatalf("%d rollouts and %d releases are kept", len(rec.Rollouts), len(rec.Releases))
	}
	if r.fake.instances[r.workload] == nil {
		return // the provider refused the first release
	}
	if in := r.fake.instances[r.workload]; in.serving != in.target {
		in.failed = true // a provider gives up, too, on a release that was left to it
	}
	res, err := r.Deploy(r.ctx(), r.change(image("web", "web:good"), image("cache", "cache:good")), With{})
	if err != nil {
		r.rt.Fatalf("last deploy: %v", err)
	}
	for {
		wait, err := r.Step(r.ctx(), r.workload)
		if err != nil {
			r.rt.Fatalf("step: %v", err)
		}
		if wait == 0 {
			break
		}
		r.clock = r.clock.Add(wait)
	}
	ro, err := r.Rollout(r.ctx(), r.workload, res.Rollout.ID)
	if err != nil || ro.State != StateSucceeded || r.fake.instances[r.workload].serving != ro.Ref {
		r.rt.Fatalf("last rollout %+v, %v", ro, err)
	}
}

// TestEveryMoveThatIsDrawnHappens walks each of them, so that the model does not
// hold for want of trying.
func TestEveryMoveThatIsDrawnHappens(t *testing.T) {
	a := &auditor{t: t, seen: map[string]int{}, rels: map[string]Release{}}
	begin := func(policy Policy) *world {
		w := newWorld(t, Options{Policy: policy})
		w.store.watch = a.write
		return w
	}
	// stuck deploys with a store that fails after the rollout is recorded.
	stuck := func(w *world) id.ID {
		writes := 0
		w.store.refuse = func() error {
			if writes++; writes > 1 {
				return provider.ErrUnavailable
			}
			return nil
		}
		res, err := w.Deploy(w.ctx(), w.change(image("web", "web:2")), With{})
		w.store.refuse = nil
		if err != nil || res.Rollout.State != StatePending {
			t.Fatalf("%+v, %v", res, err)
		}
		return res.Rollout.ID
	}
	cancel := func(w *world, ro id.ID) {
		if _, err := w.Cancel(w.ctx(), w.workload, ro); err != nil {
			t.Fatal(err)
		}
	}
	odd := func(calls ...string) func(string) error {
		return func(call string) error {
			if slices.Contains(calls, call) {
				return errors.New("odd")
			}
			return nil
		}
	}

	w := begin(Policy{}).provisioned()
	cancel(w, stuck(w))
	w.drive()
	stuck(w)
	w.clock = w.clock.Add(time.Hour)
	w.drive()

	w.deployed(image("web", "web:broken")) // await to undo
	w.fake.answer = odd("deploy")
	w.deployed(image("web", "web:3")) // apply to undo
	w.fake.answer = odd("deploy", "rollback")
	w.deployed(image("web", "web:4")) // undo to failed
	w.fake.answer = nil

	res, err := w.Deploy(w.ctx(), w.change(image("web", "web:5")), With{})
	if err != nil {
		t.Fatal(err)
	}
	in := w.fake.instances[w.workload]
	in.pursue(in.serving) // await to apply
	w.drive()
	w.served(res.Release.Version)

	res, err = w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(w, res.Rollout.ID)
	lost := false
	w.fake.answer = func(call string) error {
		if call == "step" && !lost {
			lost = true
			in.pursue(res.Release.ID) // undo_await to undo
		}
		return nil
	}
	w.drive()
	if ro := w.rollout(res.Rollout.ID); ro.State != StateCancelled {
		t.Fatalf("rollout %+v", ro)
	}

	w = begin(Policy{KeepFailed: true}).provisioned()
	w.deployed(image("web", "web:broken")) // await to failed
	w.fake.answer = odd("deploy")
	w.deployed(image("web", "web:3")) // apply to failed

	for _, phase := range []Phase{PhaseApply, PhaseAwait, PhaseUndo, PhaseUndoAwait} { // to cancelled, and from undo_await to failed
		w = begin(Policy{}).provisioned()
		switch phase {
		case PhaseApply:
			w.fake.answer = func(call string) error { return map[string]error{"deploy": provider.ErrUnavailable}[call] }
		case PhaseUndo:
			w.fake.answer = func(call string) error { return map[string]error{"rollback": provider.ErrUnavailable}[call] }
		case PhaseUndoAwait:
			w.fake.answer = func(call string) error { return map[string]error{"step": provider.ErrUnavailable}[call] }
		}
		res, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{})
		if err != nil {
			t.Fatal(err)
		}
		if phase == PhaseUndo || phase == PhaseUndoAwait {
			cancel(w, res.Rollout.ID)
		}
		if _, err := w.Step(w.ctx(), w.workload); err != nil {
			t.Fatal(err)
		}
		if got := w.rollout(res.Rollout.ID).Phase; got != phase {
			t.Fatalf("phase %s, want %s", got, phase)
		}
		if phase == PhaseUndoAwait {
			other := *w
			w.clock = w.clock.Add(time.Hour)
			w.drive()
			if ro := w.rollout(res.Rollout.ID); ro.State != StateFailed || ro.UndoFailure == nil {
				t.Fatalf("rollout %+v", ro)
			}
			w = &other
		}
		if err := w.Deprovision(w.ctx(), w.workload); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range moves {
		for _, p := range to {
			if name := from.String() + " > " + p.String(); a.seen[name] == 0 {
				t.Errorf("%s did not happen", name)
			}
		}
	}
}
