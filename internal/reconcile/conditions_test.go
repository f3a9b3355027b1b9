package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// table is a condition store that counts and can fail.
type table struct {
	rows         map[string][]Condition
	reads        int
	writes       int
	failReads    int
	failWrites   int
	lastDeadline bool
}

var _ ConditionStore = (*table)(nil)

func (s *table) GetConditions(_ context.Context, name string) ([]Condition, error) {
	s.reads++
	if s.failReads > 0 {
		s.failReads--
		return nil, errBroken
	}
	return slices.Clone(s.rows[name]), nil
}

func (s *table) UpsertConditions(ctx context.Context, name string, conditions []Condition) error {
	s.writes++
	_, s.lastDeadline = ctx.Deadline()
	if s.failWrites > 0 {
		s.failWrites--
		return errBroken
	}
	if s.rows == nil {
		s.rows = map[string][]Condition{}
	}
	s.rows[name] = conditions
	return nil
}

func (s *table) wantCalls(t *testing.T, reads, writes int) {
	t.Helper()
	if s.reads != reads || s.writes != writes {
		t.Fatalf("%d reads and %d writes of the store, want %d and %d", s.reads, s.writes, reads, writes)
	}
}

func ready(status ConditionStatus, reason, message string) Result {
	return Result{Conditions: []Condition{{Type: ConditionReady, Status: status, Reason: reason, Message: message}}}
}

// script runs the results one after the other, one pass a minute.
func script(t *testing.T, store ConditionStore, results ...Result) *rig {
	r := newRig(t, Config{Store: store, Workers: 1, Backoff: Backoff{Ceiling: 10 * time.Second}}, nil)
	n := 0
	r.factory = func(_ context.Context, key Key) (Controller, error) {
		return &worker{key, r.record(func(context.Context, Key) (Result, error) {
			result := results[min(n, len(results)-1)]
			n++
			return result, nil
		})}, nil
	}
	r.start()
	return r
}

func (r *rig) pass() Condition {
	r.t.Helper()
	r.Enqueue(web)
	r.sleep(time.Minute)
	out, ok := r.Results(web)
	if !ok || len(out.Conditions) != 1 {
		r.t.Fatalf("the outcome is %+v", out)
	}
	return out.Conditions[0]
}

func TestUnchangedConditionsAreStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		r := script(t, store, ready(True, "Deployed", ""))
		for range 5 {
			r.pass()
		}
		store.wantCalls(t, 1, 1)
		if !store.lastDeadline {
			t.Error("the store was called without a deadline")
		}
		r.halt()
	})
}

func TestTheTransitionTimeChangesOnlyWithStatusOrReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		r := script(t, store,
			ready(False, "Starting", "1 of 2"), ready(False, "Starting", "2 of 2"),
			ready(True, "Deployed", ""), ready(True, "AlreadyRunning", ""))
		began := time.Now()
		want := []time.Duration{0, 0, 2 * time.Minute, 3 * time.Minute}
		for i, since := range want {
			c := r.pass()
			if got := c.LastTransitionTime.Sub(began); got != since {
				t.Errorf("pass %d: %s since %s, want %s", i, c.Reason, got, since)
			}
			if got := store.rows["application/web"][0]; got != c {
				t.Errorf("pass %d: stored %+v, want %+v", i, got, c)
			}
		}
		store.wantCalls(t, 1, 4)
		r.halt()
	})
}

func TestConditionsStoredBeforeARestartAreNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
		store := &table{rows: map[string][]Condition{"application/web": {
			{Type: ConditionReady, Status: True, Reason: "Deployed", LastTransitionTime: long}}}}
		r := script(t, store, ready(True, "Deployed", ""), ready(True, "Deployed", "now with a message"))
		if c := r.pass(); !c.LastTransitionTime.Equal(long) {
			t.Errorf("since %s, want %s", c.LastTransitionTime, long)
		}
		store.wantCalls(t, 1, 0)
		if c := r.pass(); !c.LastTransitionTime.Equal(long) {
			t.Errorf("since %s, want %s", c.LastTransitionTime, long)
		}
		store.wantCalls(t, 1, 1)
		r.halt()
	})
}

func TestAConditionThatIsNoLongerReturnedIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		two := Result{Conditions: []Condition{
			{Type: ConditionReady, Status: True, Reason: "Deployed"},
			{Type: "EgressPolicyReady", Status: True, Reason: "PoliciesApplied"}}}
		swapped := Result{Conditions: []Condition{two.Conditions[1], two.Conditions[0]}}
		r := script(t, store, two, swapped, ready(True, "Deployed", ""))
		r.Enqueue(web)
		r.sleep(time.Minute)
		r.Enqueue(web)
		r.sleep(time.Minute)
		store.wantCalls(t, 1, 1) // another order is no change
		r.pass()
		store.wantCalls(t, 1, 2)
		r.halt()
	})
}

func TestAFailedWriteIsDoneAgainThoughTheKeyRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{failWrites: 1}
		r := script(t, store, ready(True, "Deployed", ""))
		r.pass() // the write fails; ten seconds later the key runs for it
		store.wantCalls(t, 1, 2)
		r.wantPasses(web, 2)
		if out, _ := r.Results(web); out.Err != nil || len(store.rows["application/web"]) != 1 {
			t.Errorf("the outcome is %+v, stored is %+v", out, store.rows)
		}
		r.halt()
	})
}

func TestConditionsThatCouldNotBeReadAreNotOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
		store := &table{failReads: 1, rows: map[string][]Condition{"application/web": {
			{Type: ConditionReady, Status: True, Reason: "Deployed", LastTransitionTime: long}}}}
		r := script(t, store, ready(True, "Deployed", ""))
		if c := r.pass(); !c.LastTransitionTime.Equal(long) {
			t.Errorf("since %s, want %s", c.LastTransitionTime, long)
		}
		store.wantCalls(t, 2, 0)
		r.halt()
	})
}

func TestAPassThatSaysNothingLeavesWhatStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		r := script(t, store, ready(True, "Deployed", ""))
		r.pass()
		r.factory = func(context.Context, Key) (Controller, error) { panic("no desired state") }
		if c := r.pass(); c.Reason != "Deployed" {
			t.Errorf("the condition is %+v", c)
		}
		if out, _ := r.Results(web); !errors.Is(out.Err, ErrPanic) {
			t.Errorf("the outcome is %+v", out)
		}
		store.wantCalls(t, 1, 1)
		r.halt()
	})
}

func TestConditionsComeWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		r := newRig(t, Config{Store: store}, func(context.Context, Key) (Result, error) {
			return ready(False, "CreateFailed", "no space"), errBroken
		}).start()
		if c := r.pass(); c.Reason != "CreateFailed" {
			t.Errorf("the condition is %+v", c)
		}
		store.wantCalls(t, 1, 1)
		r.halt()
	})
}

func TestMalformedConditionsAreRepairedAndLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		bad := Result{Conditions: []Condition{
			{Type: "", Status: True, Reason: "Lost"},
			{Type: ConditionReady, Status: True, Reason: "First"},
			{Type: ConditionReady, Status: "maybe"}}}
		r := script(t, store, bad)
		c := r.pass()
		if c.Status != Unknown || c.Reason != unspecified {
			t.Errorf("the condition is %+v", c)
		}
		out, _ := r.Results(web) // the rig is strict
		if !errors.Is(out.Err, ErrMalformed) {
			t.Fatalf("a strict engine says %v", out.Err)
		}
		for _, want := range []string{"no type", "no reason", `status "maybe"`, "twice"} {
			if !strings.Contains(out.Err.Error(), want) {
				t.Errorf("%q does not say %q", out.Err, want)
			}
		}
		r.cfg.Strict = false
		r.pass()
		if out, _ := r.Results(web); out.Err != nil {
			t.Errorf("an engine that is not strict says %v", out.Err)
		}
		r.halt()
	})
}

func TestAForgottenKeysPassWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &table{}
		r := newRig(t, Config{Store: store}, func(ctx context.Context, _ Key) (Result, error) {
			sleep(ctx, time.Second)
			return ready(True, "Deployed", ""), nil
		}).start()
		r.Enqueue(web)
		synctest.Wait()
		r.Forget(web)
		r.sleep(time.Minute)
		store.wantCalls(t, 0, 0)
		r.halt()
	})
}
