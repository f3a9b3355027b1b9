package callback_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
)

func event(lease string, n int) backend.LeaseStatusEvent {
	return backend.LeaseStatusEvent{LeaseUUID: lease, Error: fmt.Sprint(n)}
}

// rest is what waits in a subscription that is closed.
func rest(sub *callback.Subscription) []string {
	var out []string
	for e := range sub.Events() {
		out = append(out, e.LeaseUUID+e.Error)
	}
	return out
}

func subscribe(t *testing.T, s *callback.Stream, lease string) *callback.Subscription {
	t.Helper()
	sub, err := s.Subscribe(lease)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestEverybodyHearsOfHisOwnLease(t *testing.T) {
	s := callback.NewStream()
	a1, a2, b := subscribe(t, s, "a"), subscribe(t, s, "a"), subscribe(t, s, "b")
	s.Publish(event("a", 1))
	s.Publish(event("b", 2))
	s.Publish(event("c", 3))
	a2.Close()
	a2.Close()
	s.Publish(event("a", 4))
	s.Close()
	s.Close()
	a1.Close()
	s.Publish(event("a", 5))
	for want, sub := range map[string]*callback.Subscription{"[a1 a4]": a1, "[a1]": a2, "[b2]": b} {
		if got := fmt.Sprint(rest(sub)); got != want {
			t.Errorf("heard is %s, want %s", got, want)
		}
	}
	if _, err := s.Subscribe("a"); !errors.Is(err, callback.ErrStreamClosed) {
		t.Errorf("a closed stream is subscribed to with %v", err)
	}
}

func TestTheOldestIsDroppedForWhoIsSlow(t *testing.T) {
	s := callback.NewStream()
	slow, quick := subscribe(t, s, "a"), subscribe(t, s, "a")
	for n := range 20 {
		s.Publish(event("a", n))
		if e := <-quick.Events(); e.Error != fmt.Sprint(n) {
			t.Errorf("the quick one hears %s at %d", e.Error, n)
		}
	}
	if slow.Dropped() != 4 || quick.Dropped() != 0 {
		t.Errorf("dropped are %d and %d, want 4 and 0", slow.Dropped(), quick.Dropped())
	}
	s.Close()
	if got := rest(slow); len(got) != 16 || got[0] != "a4" || got[15] != "a19" {
		t.Errorf("left are %v", got)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	s := callback.NewStream()
	defer s.Close()
	var one *callback.Subscription
	for n := range callback.MaxSubscriptions {
		sub := subscribe(t, s, fmt.Sprint(n/callback.MaxLeaseSubscriptions))
		if n == callback.MaxLeaseSubscriptions-1 {
			one = sub
			if _, err := s.Subscribe("0"); !errors.Is(err, callback.ErrTooManySubscriptions) {
				t.Errorf("one too many of a lease is %v", err)
			}
		}
	}
	if _, err := s.Subscribe("new"); !errors.Is(err, callback.ErrTooManySubscriptions) {
		t.Errorf("one too many in all is %v", err)
	}
	one.Close()
	subscribe(t, s, "new")
}

func TestAStreamIsUsedByMany(t *testing.T) {
	s := callback.NewStream()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			lease := fmt.Sprint(n % 2)
			for range 50 {
				sub, err := s.Subscribe(lease)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range 20 {
					s.Publish(event(lease, i))
				}
				if e := <-sub.Events(); e.LeaseUUID != lease {
					t.Errorf("one of lease %s hears of %s", lease, e.LeaseUUID)
				}
				sub.Close()
			}
		})
	}
	all.Wait()
	s.Close()
}

func TestACallbackIsAnEvent(t *testing.T) {
	at := time.Unix(1, 0)
	for _, c := range []struct {
		p    backend.CallbackPayload
		want backend.ProvisionStatus
	}{
		{backend.CallbackPayload{LeaseUUID: "a", Status: backend.CallbackStatusSuccess}, backend.ProvisionStatusReady},
		{backend.CallbackPayload{LeaseUUID: "a", Status: backend.CallbackStatusFailed, Error: "e"}, backend.ProvisionStatusFailed},
		{backend.CallbackPayload{LeaseUUID: "a", Status: backend.CallbackStatusDeprovisioned, Retained: true}, backend.ProvisionStatusRetained},
		{backend.CallbackPayload{LeaseUUID: "a", Status: backend.CallbackStatusDeprovisioned}, ""},
		{backend.CallbackPayload{LeaseUUID: "a", Status: "x"}, ""},
	} {
		got, ok := callback.EventOf(c.p, at)
		want := backend.LeaseStatusEvent{LeaseUUID: "a", Status: c.want, Error: c.p.Error, Timestamp: at}
		if c.want == "" {
			want = backend.LeaseStatusEvent{}
		}
		if ok != (c.want != "") || got != want {
			t.Errorf("%+v is %+v, %t", c.p, got, ok)
		}
	}
}
