package instances_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

// fleet is n machines whose agents are registered, older than any minimum age.
func (w *world) fleet(l *leader, n int) []*agent {
	w.t.Helper()
	var all []*agent
	for range n {
		made := w.create(l, web())
		a := &agent{instanceID: made.InstanceID, token: made.RegistrationJWT, key: newKey(w.t)}
		a.register(w, l)
		all = append(all, a)
	}
	w.clock.Advance(time.Hour)
	return all
}

func (w *world) passes(l *leader, n int) instances.CollectReport {
	w.t.Helper()
	var last instances.CollectReport
	for range n {
		var err error
		last, err = l.Collect(w.t.Context())
		must(w.t, err)
		w.clock.Advance(2 * time.Minute)
	}
	return last
}

func TestALyingProviderMakesNobodyDestroyAnything(t *testing.T) {
	for name, faults := range map[string][]fake.Fault{
		"an empty list":        {{Method: "ListInstances", To: -1, Do: fake.LieEmpty}},
		"one empty list":       {{Method: "ListInstances", Do: fake.LieEmpty}, {Method: "GetInstanceStatus", To: 20, Do: fake.LieNotFound}},
		"a list that lags":     {{Method: "ListInstances", To: -1, Do: fake.Lag, For: 2 * time.Hour}},
		"others on the list":   {{Method: "ListInstances", To: -1, Do: fake.LieForeign}},
		"pages that shift":     {{Method: "ListInstances", To: -1, Do: fake.ShiftPages}},
		"look-ups that fail":   {{Method: "ListInstances", To: -1, Do: fake.LieEmpty}, {Method: "GetInstanceStatus", To: -1, Do: fake.Fail}},
		"denied but listed":    {{Method: "GetInstanceStatus", To: -1, Do: fake.LieNotFound}},
		"lists that fail":      {{Method: "ListInstances", To: -1, Do: fake.Fail}},
		"throttles everything": {{To: -1, Do: fake.Throttle, For: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			l := w.start()
			agents := w.fleet(l, 5)
			foreign := w.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "two", infra.TagInstance: agents[0].instanceID})
			w.cloud.Place(map[string]string{"name": "somebody's"})
			w.clock.Advance(time.Hour)
			w.cloud.Script(faults...)
			for range 6 {
				_, _ = l.Collect(t.Context())
				_ = l.RebuildCache(t.Context())
				w.clock.Advance(2 * time.Minute)
			}
			if n := len(w.cloud.Alive()); n != 7 {
				t.Fatalf("%d machines of 7 are left", n)
			}
			w.cloud.ClearFaults()
			w.passes(l, 3)
			if n := len(w.own()); n != 5 || foreign == "" {
				t.Fatalf("%d machines of 5 are left", n)
			}
			for _, a := range agents {
				status, err := l.GetInstanceStatusFor(t.Context(), "acme", a.instanceID)
				must(t, err)
				if status.State != instances.StateRegistered {
					t.Fatalf("%s is %s", a.instanceID, status.State)
				}
			}
		})
	}
}

func TestAMachineThatIsGoneIsClosedAfterTwoPassesUnlessItsAgentIsThere(t *testing.T) {
	w := newWorld(t)
	connected := ""
	l := w.start(func(o *instances.ManagerOptions) { o.Connected = func(id string) bool { return id == connected } })
	agents := w.fleet(l, 2)
	connected = agents[1].instanceID
	for _, a := range agents {
		w.cloud.Vanish(a.instanceID)
	}
	if r := w.passes(l, 1); r.Vanished != 0 {
		t.Fatalf("after one pass: %+v", r)
	}
	if r := w.passes(l, 1); r.Vanished != 1 {
		t.Fatalf("after two: %+v", r)
	}
	for i, want := range []instances.State{instances.StateDeleted, instances.StateRegistered} {
		status, err := l.GetInstanceStatusFor(t.Context(), "acme", agents[i].instanceID)
		must(t, err)
		if status.State != want {
			t.Fatalf("machine %d is %s", i, status.State)
		}
	}
}

func TestAnOrphanIsRemovedOnlyWhenItIsOldAndWasMissedTwice(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.fleet(l, 1)
	orphan := w.ids.New("wrk").String()
	w.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "one", infra.TagInstance: orphan})
	if r := w.passes(l, 6); r.Orphans != 0 {
		t.Fatalf("a young one: %+v", r) // 12 minutes
	}
	w.clock.Advance(5 * time.Minute)
	l = w.start()
	must(t, l.RebuildCache(t.Context()))
	if r := w.passes(l, 1); r.Orphans != 0 {
		t.Fatalf("a new leader at once: %+v", r)
	}
	if r := w.passes(l, 1); r.Orphans != 1 {
		t.Fatalf("at last: %+v", r)
	}
	w.passes(l, 1)
	if len(w.own()) != 1 {
		t.Fatal("the wrong one was removed")
	}
}

func TestAPassRemovesNoMoreThanItsCap(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	for range 14 {
		w.create(l, web())
	}
	w.clock.Advance(time.Hour) // none has registered
	if r := w.passes(l, 1); r.Unregistered != 10 || r.Left != 4 {
		t.Fatalf("report %+v", r)
	}
	if r := w.passes(l, 1); r.Unregistered != 4 || r.Left != 0 {
		t.Fatalf("then %+v", r)
	}
	w.passes(l, 2)
	if len(w.own()) != 0 {
		t.Fatalf("%d machines are left", len(w.own()))
	}
}

func TestAMachineThatRegistersAtTheLastMomentStays(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made := w.create(l, web())
	w.clock.Advance(11*time.Minute + 5*time.Second)
	// The pass has read its record, and reads it again before it removes anything.
	key, reads := newKey(t), 0
	w.faulty.Before(func(_ context.Context, c storagetest.Call) error {
		if c.Op != storagetest.OpGet || !strings.HasPrefix(c.Key, "shard/one/instance/") {
			return nil
		}
		if reads++; reads == 2 {
			w.faulty.Before(nil)
			der, err := x509.MarshalPKIXPublicKey(key.Public())
			must(t, err)
			text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
			must(t, l.UpdateRegistration(context.Background(), "acme", made.InstanceID, text, "ab", w.clock.Now().Add(time.Hour), nil, "", "", ""))
		}
		return nil
	})
	r, err := l.Collect(t.Context())
	must(t, err)
	if reads != 2 || r.Unregistered != 1 {
		t.Fatalf("%d reads, %+v: the test does not do what it says", reads, r)
	}
	w.passes(l, 2)
	if len(w.own()) != 1 {
		t.Fatal("a registered machine was removed")
	}
}

func TestADeletionGoesOnUntilTheProviderSaysThatItIsDone(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	a := w.fleet(l, 1)[0]
	w.cloud.Script(fake.Fault{Method: "DeleteInstance", Do: fake.PartialDelete})
	must(t, l.DeleteInstanceFor(t.Context(), "acme", a.instanceID))
	w.clock.Advance(time.Minute)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", a.instanceID)
	must(t, err)
	if status.State != instances.StateDeleting || len(w.own()) != 1 {
		t.Fatalf("a partial delete: %+v", status)
	}
	w.passes(l, 3)
	status, err = l.GetInstanceStatusFor(t.Context(), "acme", a.instanceID)
	must(t, err)
	if status.State != instances.StateDeleted || len(w.own()) != 0 {
		t.Fatalf("at last %+v", status)
	}
}

func TestAMachineOfAnotherRequestIsNotTheRecords(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	instanceID := w.ids.New("wrk").String()
	w.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "one", infra.TagInstance: instanceID, infra.TagRequest: "another"})
	req := web()
	req.InstanceID = instanceID
	_, err := l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrExists)
	if len(w.objects("shard/one/instance/")) != 0 {
		t.Fatal("a record was written for an id that is taken")
	}
}

func TestOfManyKeysAtOnceOneHasTheToken(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made := w.create(l, web())
	key := newKey(t)
	results := make(chan error, 8)
	for i := range 8 {
		go func() {
			k := key
			if i%2 == 1 {
				k = newKey(t)
			}
			_, err := w.register(l, made.RegistrationJWT, k)
			results <- err
		}()
	}
	good := 0
	for range 8 {
		if err := <-results; err == nil {
			good++
		} else {
			mustBe(t, err, instances.ErrTokenUsed)
		}
	}
	if good != 4 && good != 1 {
		t.Fatalf("%d were let in", good)
	}
}

func TestAProviderThatAsksForFewerCallsGetsFewer(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	for _, a := range w.fleet(l, 6) {
		w.cloud.Vanish(a.instanceID)
	}
	before := w.cloud.Calls("GetInstanceStatus")
	w.cloud.Script(fake.Fault{Method: "GetInstanceStatus", To: -1, Do: fake.Throttle, For: 7 * time.Second})
	_, err := l.Collect(t.Context())
	mustBe(t, err, infra.ErrThrottled)
	if after, ok := infra.RetryAfter(err); !ok || after != 7*time.Second {
		t.Fatalf("again in %v", after)
	}
	if n := w.cloud.Calls("GetInstanceStatus") - before; n != 1 {
		t.Fatalf("%d calls", n)
	}
}

func TestAClaimWithoutARecordIsSweptInTheEnd(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.fleet(l, 1)
	key := "shard/one/claim/0123.json"
	_, err := w.memory.Put(t.Context(), key, []byte("{}"))
	must(t, err)
	w.passes(l, 1)
	if _, there := w.objects("shard/one/claim/")[key]; !there {
		t.Fatal("a young claim was removed")
	}
	w.clock.Advance(time.Until(w.clock.Now()).Abs() + 48*time.Hour) // the store has a clock of its own
	w.passes(l, 1)
	if all := w.objects("shard/one/claim/"); len(all) != 1 || all[key] != "" {
		t.Fatalf("claims %v", all)
	}
}
