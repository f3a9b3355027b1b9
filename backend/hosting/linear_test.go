package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
)

// claimCall is a call that has to do with who has what one lease left.
type claimCall struct {
	what  string // restore, deprovision, reap, look
	lease string
}

// claimState is all that there is to know of it.
type claimState struct {
	owner string // the lease that it is restored to; "" is none
	old   bool   // it may be kept no longer
	gone  bool
}

// claims are the calls as if one came after the other.
var claims = porcupine.Model{
	Init: func() any { return claimState{} },
	Step: func(state, input, output any) (bool, any) {
		s, in := state.(claimState), input.(claimCall)
		want := ""
		switch {
		case in.what == "restore" && s.owner != "":
			want = "taken"
		case in.what == "restore" && (s.gone || s.old):
			want = "none"
		case in.what == "restore":
			want, s.owner = "mine", in.lease
		case in.what == "deprovision" && s.owner == in.lease:
			s.owner = "" // it did not come up, and goes back
		case in.what == "reap":
			s.old = true
			s.gone = s.gone || s.owner == ""
		}
		return output.(string) == want, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " -> ", output) },
}

// Restores of one lease, the end of what was restored and the end of its time, at once.
func TestRestoresAreAsIfOneAfterTheOther(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.retention.Grace = 1000 * time.Hour
			w.open()
			w.closed(t, leaseIDs[1])
			calls := w.restoreAtOnce(t, seed)
			for _, c := range calls {
				seen[fmt.Sprint(c.Input.(claimCall).what, " ", c.Output)]++
			}
			if !porcupine.CheckOperations(claims, calls) {
				t.Fatalf("seed %d: no order explains %+v", seed, calls)
			}
			if !w.rest() {
				t.Fatal("it does not come to rest")
			}
			w.checkRest(t)
		})
	}
	t.Log(seen)
	for _, what := range []string{"restore mine", "restore taken", "restore none"} {
		if seen[what] == 0 {
			t.Errorf("no %s", what)
		}
	}
}

func (w *world) restoreAtOnce(t *testing.T, seed uint64) []porcupine.Operation {
	var (
		clock atomic.Int64
		mu    sync.Mutex
		all   []porcupine.Operation
		wg    sync.WaitGroup
	)
	do := func(client int, in claimCall) (out string) {
		op := porcupine.Operation{ClientId: client, Input: in, Call: clock.Add(1)}
		out = w.claim(t, in)
		op.Output, op.Return = out, clock.Add(1)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, op)
		return out
	}
	for client := range 3 {
		r := rand.New(rand.NewPCG(seed, uint64(client)))
		wg.Go(func() {
			for i := range 5 {
				lease := fmt.Sprintf("0190a1b2-0000-7000-8000-0000000%d%d000", client, i)
				<-time.After(time.Duration(r.IntN(4)) * time.Millisecond)
				if do(client, claimCall{"restore", lease}) == "mine" {
					do(client, claimCall{"deprovision", lease})
				}
			}
		})
	}
	wg.Go(func() {
		r := rand.New(rand.NewPCG(seed, 99))
		<-time.After(time.Duration(r.IntN(40)) * time.Millisecond)
		do(3, claimCall{what: "reap"})
	})
	wg.Wait()
	return all
}

// claim makes a call, and waits for its end.
func (w *world) claim(t *testing.T, in claimCall) string {
	ctx := context.Background()
	switch in.what {
	case "restore":
		err := w.Restore(ctx, restoreRequest(in.lease, leaseIDs[1], disk))
		switch {
		case err == nil:
			return "mine"
		case errors.Is(err, backend.ErrInvalidState):
			return "taken"
		case errors.Is(err, backend.ErrNotRetained):
			return "none"
		}
		t.Error(err)
	case "deprovision":
		if err := w.Deprovision(ctx, in.lease); err != nil {
			t.Error(err)
		}
		for w.Knows(in.lease) {
			if _, err := w.Step(ctx, in.lease); err != nil {
				t.Error(err)
			}
			<-time.After(time.Millisecond)
		}
	case "reap":
		w.skip(2000 * time.Hour)
		if _, err := w.Step(ctx, hosting.Reaper); err != nil {
			t.Error(err)
		}
	}
	return ""
}

// A judge that takes everything would prove nothing.
func TestTwoOwnersAreNoticed(t *testing.T) {
	mine := func(client int, lease string) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Call: 1, Return: 2, Input: claimCall{"restore", lease}, Output: "mine"}
	}
	if porcupine.CheckOperations(claims, []porcupine.Operation{mine(0, "a"), mine(1, "b")}) {
		t.Error("two leases have one set of volumes, and it is taken for right")
	}
}
