package localdb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/instances/localdb"
)

func TestGroupsOfOneNameAreOfTheirTenants(t *testing.T) {
	d := openNew(t)
	for i, tenant := range []string{"acme", "acme", "bolt"} {
		one := instance(fmt.Sprint("i", i), tenant, "web")
		one.CreatedAt = epoch.Add(-time.Duration(i) * time.Hour)
		save(t, d, one)
	}
	save(t, d, instance("other", "acme", "db"))
	for _, tc := range []struct {
		q    localdb.Query
		want []string
	}{
		{localdb.Query{Tenant: "acme", Group: "web"}, []string{"i1", "i0"}},
		{localdb.Query{Tenant: "bolt", Group: "web"}, []string{"i2"}},
		{localdb.Query{Tenant: "bolt", Group: "db"}, nil},
		{localdb.Query{Tenant: "acme"}, []string{"i1", "i0", "other"}},
		{localdb.Query{}, []string{"i2", "i1", "i0", "other"}},
	} {
		if got := ids(t, d, tc.q); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, want %v", tc.q, got, tc.want)
		}
	}
	if all, err := d.Instances(t.Context(), localdb.Query{Group: "web"}); err == nil {
		t.Errorf("a group without a tenant: %v", all)
	}
}

func TestQueriesChoose(t *testing.T) {
	d := openNew(t)
	managed, demanded, gone := instance("a", "acme", "web"), instance("b", "acme", "web"), instance("c", "acme", "web")
	demanded.OnDemand = true
	demanded.ProviderID = "vm-1"
	gone.DeletedAt = epoch
	gone.ProviderID = "vm-1"
	for _, i := range []localdb.Instance{managed, demanded, gone} {
		save(t, d, i)
	}
	yes, no := true, false
	for _, tc := range []struct {
		q    localdb.Query
		want []string
	}{
		{localdb.Query{}, []string{"a", "b"}},
		{localdb.Query{OnDemand: &yes}, []string{"b"}},
		{localdb.Query{OnDemand: &no}, []string{"a"}},
		{localdb.Query{Deleted: localdb.WithDeleted}, []string{"a", "b", "c"}},
		{localdb.Query{Deleted: localdb.OnlyDeleted}, []string{"c"}},
		{localdb.Query{ProviderID: "vm-1"}, []string{"b"}},
		{localdb.Query{ProviderID: "vm-1", Deleted: localdb.WithDeleted}, []string{"b", "c"}},
	} {
		if got := ids(t, d, tc.q); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %v, want %v", tc.q, got, tc.want)
		}
	}
	if i, err := d.InstanceByNonce(t.Context(), "sha256:b"); err != nil || i.ID != "b" {
		t.Errorf("%+v, %v", i, err)
	}
	without := instance("d", "acme", "web")
	without.NonceHash = ""
	save(t, d, without)
	for _, hash := range []string{"", "sha256:none"} {
		if i, err := d.InstanceByNonce(t.Context(), hash); !errors.Is(err, localdb.ErrNotFound) {
			t.Errorf("token %q: %+v, %v", hash, i, err)
		}
	}
}

// What a slow writer saves, who read before others wrote, takes nothing back.
func TestAnOldSaveTakesNothingBack(t *testing.T) {
	d := openNew(t)
	old := instance("a", "acme", "web")
	save(t, d, old)
	if _, err := d.ClaimRegistration(t.Context(), "a", "key", epoch.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	later := epoch.Add(time.Hour)
	for _, err := range []error{
		d.SetHealth(t.Context(), "a", later, json.RawMessage(`{"n":2}`)),
		d.SetProviderState(t.Context(), "a", json.RawMessage(`"running"`)),
		d.SetCertificatesAt(t.Context(), "a", later),
		d.StartDrain(t.Context(), "a", later),
		d.AckDrain(t.Context(), "a", later.Add(time.Second)),
		d.DeleteInstance(t.Context(), "a", later),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	before := get(t, d, "a")
	old.ProviderID = "vm-1" // what it came to save
	save(t, d, old)
	want := before
	want.ProviderID = "vm-1"
	if got := get(t, d, "a"); !reflect.DeepEqual(got, want) {
		t.Errorf("it became\n%+v, want\n%+v", got, want)
	}
	if want.RegisteredAt != epoch.Add(time.Minute) || want.PublicKey != "key" || want.HealthAt != later || want.DeletedAt != later {
		t.Errorf("%+v", want)
	}
}

func TestNoSaveTakesARegistrationBack(t *testing.T) {
	d := openNew(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		first := drawInstance(rt, n, true)
		if err := d.SaveInstance(t.Context(), first); err != nil {
			rt.Fatal(err)
		}
		second := drawInstance(rt, n, rapid.Bool().Draw(rt, "full"))
		second.Tenant, second.Group, second.OnDemand = first.Tenant, first.Group, first.OnDemand
		if err := d.SaveInstance(t.Context(), second); err != nil && !errors.Is(err, localdb.ErrStale) {
			rt.Fatal(err)
		}
		got, err := d.Instance(t.Context(), first.ID)
		if err != nil {
			rt.Fatal(err)
		}
		if got.RegisteredAt != first.RegisteredAt || got.PublicKey != first.PublicKey || got.DrainStartedAt != first.DrainStartedAt ||
			got.DeletedAt != first.DeletedAt || got.CreatedAt != first.CreatedAt {
			rt.Fatalf("taken back: %+v, was %+v", got, first)
		}
		if got.ProviderID == "" || got.IPv4 == "" || got.Hostname == "" || got.InfraConfigHash == "" || got.NonceHash == "" {
			rt.Fatalf("emptied: %+v", got)
		}
		if got.HealthAt.Before(first.HealthAt) || got.CertExpiresAt.Before(first.CertExpiresAt) || got.RecordVersion < first.RecordVersion {
			rt.Fatalf("older than it was: %+v, was %+v", got, first)
		}
	})
}

func TestAnOlderRecordIsStale(t *testing.T) {
	d := openNew(t)
	i := instance("a", "acme", "web")
	i.RecordVersion, i.Status = 3, "running"
	save(t, d, i)
	i.RecordVersion, i.Status = 2, "pending"
	if err := d.SaveInstance(t.Context(), i); !errors.Is(err, localdb.ErrStale) {
		t.Error(err)
	}
	if got := get(t, d, "a"); got.Status != "running" || got.RecordVersion != 3 {
		t.Errorf("%+v", got)
	}
	i.RecordVersion, i.Status = 4, "deleting"
	save(t, d, i)
	if got := get(t, d, "a"); got.Status != "deleting" {
		t.Errorf("%+v", got)
	}
}

func TestAnInstanceStaysItsOwners(t *testing.T) {
	d := openNew(t)
	save(t, d, instance("a", "acme", "web"))
	for name, change := range map[string]func(*localdb.Instance){
		"tenant":    func(i *localdb.Instance) { i.Tenant = "bolt" },
		"group":     func(i *localdb.Instance) { i.Group = "db" },
		"on demand": func(i *localdb.Instance) { i.OnDemand = true },
		"token":     func(i *localdb.Instance) { i.ID = "b" },
		"no tenant": func(i *localdb.Instance) { i.ID, i.NonceHash, i.Tenant = "c", "c", "" },
		"no group":  func(i *localdb.Instance) { i.ID, i.NonceHash, i.Group = "c", "c", "" },
		"no id":     func(i *localdb.Instance) { i.ID, i.NonceHash = "", "c" },
	} {
		i := instance("a", "acme", "web")
		i.Status = "changed"
		change(&i)
		if err := d.SaveInstance(t.Context(), i); !errors.Is(err, localdb.ErrConflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := ids(t, d, localdb.Query{}); !slices.Equal(got, []string{"a"}) || get(t, d, "a").Status != "" {
		t.Errorf("%v", got)
	}
}

func TestOneOfManyKeysRegisters(t *testing.T) {
	d := openNew(t)
	for round := range 5 {
		id := fmt.Sprint("i", round)
		save(t, d, instance(id, "acme", "web"))
		var won atomic.Int64
		var winner atomic.Value
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				key := fmt.Sprint("key ", n)
				_, err := d.ClaimRegistration(t.Context(), id, key, epoch.Add(time.Duration(n)*time.Second))
				if err == nil {
					won.Add(1)
					winner.Store(key)
				} else if !errors.Is(err, localdb.ErrClaimed) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d keys registered", won.Load())
		}
		before := get(t, d, id)
		if before.PublicKey != winner.Load() {
			t.Errorf("registered with %s, not %s", before.PublicKey, winner.Load())
		}
		// The answer was lost: the same key asks again, later.
		at, err := d.ClaimRegistration(t.Context(), id, before.PublicKey, epoch.Add(time.Hour))
		if err != nil || at != before.RegisteredAt {
			t.Errorf("again: %v, %v; want %v", at, err, before.RegisteredAt)
		}
	}
}

func TestWhatIsNotThereCannotRegister(t *testing.T) {
	d := openNew(t)
	save(t, d, instance("a", "acme", "web"))
	if err := d.DeleteInstance(t.Context(), "a", epoch); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "none"} {
		if _, err := d.ClaimRegistration(t.Context(), id, "key", epoch); !errors.Is(err, localdb.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := d.RestoreInstance(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		key string
		at  time.Time
	}{{"", epoch}, {"key", time.Time{}}} {
		if _, err := d.ClaimRegistration(t.Context(), "a", tc.key, tc.at); err == nil {
			t.Errorf("%+v registered", tc)
		}
	}
	if _, err := d.ClaimRegistration(t.Context(), "a", "key", epoch); err != nil {
		t.Error(err)
	}
}

func TestEventsKeepTheFirstOrTheNewest(t *testing.T) {
	d := openNew(t)
	save(t, d, instance("a", "acme", "web"))
	for _, at := range []time.Duration{2, 3, 1} {
		when := epoch.Add(at * time.Hour)
		for _, err := range []error{
			d.SetHealth(t.Context(), "a", when, json.RawMessage(fmt.Sprint(int(at)))),
			d.SetCertificatesAt(t.Context(), "a", when),
			d.StartDrain(t.Context(), "a", when),
			d.AckDrain(t.Context(), "a", when),
			d.DeleteInstance(t.Context(), "a", when),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first, newest := epoch.Add(2*time.Hour), epoch.Add(3*time.Hour)
	i := get(t, d, "a")
	if i.HealthAt != newest || string(i.Health) != "3" || i.CertificatesAt != newest ||
		i.DrainStartedAt != first || i.DrainAckedAt != first || i.DeletedAt != first {
		t.Errorf("%+v", i)
	}
	for name, err := range map[string]error{
		"health": d.SetHealth(t.Context(), "none", epoch, nil), "state": d.SetProviderState(t.Context(), "none", nil),
		"certificates": d.SetCertificatesAt(t.Context(), "none", epoch), "drain": d.StartDrain(t.Context(), "none", epoch),
		"ack": d.AckDrain(t.Context(), "none", epoch), "delete": d.DeleteInstance(t.Context(), "none", epoch),
		"restore": d.RestoreInstance(t.Context(), "none"),
	} {
		if !errors.Is(err, localdb.ErrNotFound) {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}

func TestOnlyWhatWasLongDeletedIsForgotten(t *testing.T) {
	d := openNew(t)
	for _, id := range []string{"alive", "just", "long"} {
		save(t, d, instance(id, "acme", "web"))
	}
	for id, at := range map[string]time.Time{"just": epoch, "long": epoch.Add(-time.Hour)} {
		if err := d.DeleteInstance(t.Context(), id, at); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.PurgeInstances(t.Context(), epoch); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := ids(t, d, localdb.Query{Deleted: localdb.WithDeleted}); !slices.Equal(got, []string{"alive", "just"}) {
		t.Errorf("%v", got)
	}
	if n, err := d.PurgeInstances(t.Context(), time.Time{}); n != 0 || err != nil {
		t.Errorf("before no time: %d, %v", n, err)
	}
}

func TestAFailedRebuildChangesNothing(t *testing.T) {
	d := openNew(t)
	save(t, d, instance("a", "acme", "web"))
	twice := []localdb.Instance{instance("b", "acme", "web"), instance("c", "acme", "web"), instance("b", "acme", "web")}
	if err := d.ReplaceInstances(t.Context(), twice); !errors.Is(err, localdb.ErrConflict) {
		t.Error(err)
	}
	if got := ids(t, d, localdb.Query{}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
	if err := d.ReplaceInstances(t.Context(), twice[:2]); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, d, localdb.Query{}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%v", got)
	}
}

func TestARebuildIsSeenWholeOrNotAtAll(t *testing.T) {
	d := openNew(t)
	const n = 200
	var all []localdb.Instance
	for i := range n {
		all = append(all, instance(fmt.Sprintf("i%03d", i), "acme", "web"))
	}
	if err := d.ReplaceInstances(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		defer close(done)
		for range 5 {
			if err := d.ReplaceInstances(t.Context(), all); err != nil {
				t.Error(err)
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if got := ids(t, d, localdb.Query{}); len(got) != n {
			t.Errorf("%d of %d instances are seen", len(got), n)
			running = false
		}
	}
	writer.Wait()
}
