package records

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

var start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func newStore(state provider.StateStore) *Store {
	return New(state, "docker/test", func() time.Time { return start })
}

func view(s *Store, workload id.ID) *View {
	redact := func(_ context.Context, text string) string { return strings.ReplaceAll(text, "hunter2", "[redacted]") }
	return s.View(workload, redact, slog.New(slog.DiscardHandler))
}

// workload writes a workload whose first attempt is open.
func workload(t *testing.T, s *Store) id.ID {
	t.Helper()
	one := id.New(id.KindWorkload)
	release := id.New(id.KindRelease)
	_, err := s.Update(t.Context(), one, func(w *Workload) (*Workload, error) {
		if w != nil {
			t.Error("it is there already")
		}
		return &Workload{
			App: one.String(), Provisioned: Accepted{Fingerprint: "f"}, Target: 1, Goal: 1, LastRevision: 1, LastAttempt: 1, RolloutAttempt: 1,
			Releases:  []Release{{ID: release}},
			Revisions: []Revision{{Number: 1, Release: release, Replicas: 1}},
			Desired:   &store.DesiredService{Name: one.String(), AppID: one.String(), AttemptID: 1, Replicas: 1},
			Attempts: []store.Attempt{{ID: 1, State: store.AttemptRunning, CreatedAt: start, Services: []store.AttemptService{
				{AttemptID: 1, Service: one.String(), Action: "create", State: store.AttemptQueued},
			}}},
		}, nil
	})
	ok(t, err)
	return one
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, got, wanted any) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

func TestChangesOfTwoProcessesAreBothKept(t *testing.T) {
	state := provider.NewMemoryStore()
	a, b := newStore(state), newStore(state)
	one := workload(t, a)
	_, err := b.Load(t.Context(), one)
	ok(t, err)
	var wg sync.WaitGroup
	for _, s := range []*Store{a, b} {
		for range 5 {
			wg.Go(func() {
				_, err := s.Change(t.Context(), one, func(w *Workload) error { w.LastRoute++; return nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	w, err := a.Load(t.Context(), one)
	ok(t, err)
	want(t, "changes", w.LastRoute, int64(10))
}

func TestUnchangedDocumentIsNotWritten(t *testing.T) {
	state := provider.NewMemoryStore()
	s := newStore(state)
	one := workload(t, s)
	before, err := state.Get(t.Context(), s.workloadKey(one))
	ok(t, err)
	_, err = s.Change(t.Context(), one, func(*Workload) error { return nil })
	ok(t, err)
	after, err := state.Get(t.Context(), s.workloadKey(one))
	ok(t, err)
	want(t, "version", after.Version, before.Version)
}

func TestWorkloadThatIsGoneIsSaidInBothTongues(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	ok(t, v.SaveKeptLog(t.Context(), store.KeptLog{Container: "c", Started: start}))
	ok(t, s.Drop(t.Context(), one))
	ok(t, s.Drop(t.Context(), one))
	if _, err := s.Load(t.Context(), one); !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("load: %v", err)
	}
	if _, err := v.GetDesiredService(t.Context(), one.String()); !errors.Is(err, store.ErrServiceNotFound) {
		t.Errorf("desired: %v", err)
	}
	if _, err := v.SetActiveRelease(t.Context(), store.ActiveRelease{Service: one.String(), ReleaseID: "r"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("active: %v", err)
	}
	keys, err := s.state.List(t.Context(), "")
	ok(t, err)
	want(t, "records", len(keys), 0)
}

func TestDeletedWorkloadIsNoLongerDesired(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	_, err := v.GetDesiredService(t.Context(), one.String())
	ok(t, err)
	_, err = s.Change(t.Context(), one, func(w *Workload) error { w.Deleting = true; return nil })
	ok(t, err)
	if _, err := v.GetDesiredService(t.Context(), one.String()); !errors.Is(err, store.ErrServiceNotFound) {
		t.Errorf("got %v", err)
	}
	ok(t, v.SaveKeptLog(t.Context(), store.KeptLog{Container: "c", Started: start}))
	kept, err := s.KeptLogs(t.Context(), one)
	ok(t, err)
	want(t, "kept logs", len(kept), 0)
}

func TestAttemptIsFinalOnce(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	u := store.AttemptService{AttemptID: 1, Service: one.String(), State: store.AttemptRunning, ReleaseID: "x-v1"}
	ok(t, v.UpdateAttemptService(t.Context(), u))
	u.State, u.ReleaseID, u.Message = store.AttemptFailed, "", "exited: password is hunter2"
	ok(t, v.UpdateAttemptService(t.Context(), u))
	u.State = store.AttemptSucceeded
	ok(t, v.UpdateAttemptService(t.Context(), u))
	a, err := v.GetAttempt(t.Context(), 1)
	ok(t, err)
	want(t, "state", a.State, store.AttemptFailed)
	want(t, "of the service", a.Services[0].State, store.AttemptFailed)
	want(t, "release", a.Services[0].ReleaseID, "x-v1")
	want(t, "action", a.Services[0].Action, "create")
	want(t, "message", a.Services[0].Message, "exited: password is [redacted]")
	u.AttemptID = 7
	if err := v.UpdateAttemptService(t.Context(), u); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown attempt: %v", err)
	}
}

func TestReleasesAreNumberedAndTheSameOneIsReturned(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	r := store.Release{Service: one.String(), Resolved: "web@sha256:aa", Nonce: "n1", AttemptID: 1, Spec: spec.Service{Name: "web"}}
	first, err := v.CreateRelease(t.Context(), r)
	ok(t, err)
	want(t, "id", first.ID, one.String()+"-v1")
	r.CreatedAt = at(9)
	again, err := v.CreateRelease(t.Context(), r)
	ok(t, err)
	want(t, "again", again.ID, first.ID)
	r.Spec.ReadyTimeout = time.Minute // nothing that needs another container
	other, err := v.CreateRelease(t.Context(), r)
	ok(t, err)
	want(t, "with another time limit", other.ID, one.String()+"-v2")
	got, err := v.GetRelease(t.Context(), other.ID)
	ok(t, err)
	want(t, "kept limit", got.Spec.ReadyTimeout, time.Minute)
	if _, err := v.GetRelease(t.Context(), "x-v9"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	r.AttemptID = 5
	if _, err := v.CreateRelease(t.Context(), r); !errors.Is(err, store.ErrConflict) {
		t.Errorf("of an attempt that is over: %v", err)
	}
}

func TestActiveReleaseKeepsItsVersionWhileItIsTheSame(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	r, err := v.CreateRelease(t.Context(), store.Release{Service: one.String(), Resolved: "web@sha256:aa", Nonce: "n1", AttemptID: 1})
	ok(t, err)
	a := store.ActiveRelease{Service: one.String(), ReleaseID: r.ID, Since: start, Targets: []store.ActiveTarget{{Container: "c"}}}
	first, err := v.SetActiveRelease(t.Context(), a)
	ok(t, err)
	a.Since = at(50)
	same, err := v.SetActiveRelease(t.Context(), a)
	ok(t, err)
	want(t, "version", same.Version, first.Version)
	want(t, "since", same.Since, start)
	a.Targets = nil
	other, err := v.SetActiveRelease(t.Context(), a)
	ok(t, err)
	want(t, "version of other targets", other.Version, first.Version+1)
	w, err := s.Load(t.Context(), one)
	ok(t, err)
	if w.Serving() == nil || !w.Serving().Served || len(w.Served) != 1 || w.Served[0] != w.Revisions[0].Release {
		t.Errorf("serving %+v, served %v", w.Serving(), w.Served)
	}
}

func TestDocumentStaysBounded(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	first, err := v.CreateRelease(t.Context(), store.Release{Service: one.String(), Nonce: "0", AttemptID: 1})
	ok(t, err)
	_, err = v.SetActiveRelease(t.Context(), store.ActiveRelease{Service: one.String(), ReleaseID: first.ID, Targets: []store.ActiveTarget{{Container: "c"}}})
	ok(t, err)
	for i := range 100 {
		_, err := s.Change(t.Context(), one, func(w *Workload) error {
			w.LastRevision++
			w.LastAttempt++
			release := id.New(id.KindRelease)
			w.Releases = append(w.Releases, Release{ID: release})
			w.Revisions = append(w.Revisions, Revision{Number: w.LastRevision, Release: release})
			w.Target, w.Goal, w.Desired.AttemptID = w.LastRevision, w.LastRevision, w.LastAttempt
			w.Attempts = append(w.Attempts, store.Attempt{ID: w.LastAttempt, Services: []store.AttemptService{{AttemptID: w.LastAttempt}}})
			return nil
		})
		ok(t, err)
		_, err = v.CreateRelease(t.Context(), store.Release{Service: one.String(), Nonce: fmt.Sprint(i), AttemptID: int64(i + 2)})
		ok(t, err)
	}
	w, err := s.Load(t.Context(), one)
	ok(t, err)
	if len(w.Revisions) > maxRevisions+3 || len(w.Planned) > maxRevisions+3 || len(w.Releases) > maxRevisions+3 || len(w.Attempts) > maxAttempts {
		t.Errorf("%d revisions, %d planned, %d releases, %d attempts", len(w.Revisions), len(w.Planned), len(w.Releases), len(w.Attempts))
	}
	if w.Serving() == nil || w.Wanted() == nil {
		t.Error("what serves or what is wanted is gone")
	}
	if _, err := v.GetRelease(t.Context(), first.ID); err != nil {
		t.Error("the release that serves is gone")
	}
}

func TestKeptLogsAreTheNewestAndHoldNoSecret(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one := workload(t, s)
	v := view(s, one)
	for i := range store.MaxKeptLogs + 3 {
		ok(t, v.SaveKeptLog(t.Context(), store.KeptLog{Container: "c", Started: at(i), Lines: fmt.Appendf(nil, "hunter2 %d\n", i)}))
	}
	kept, err := s.KeptLogs(t.Context(), one)
	ok(t, err)
	want(t, "number", len(kept), store.MaxKeptLogs)
	want(t, "newest", string(kept[0].Lines), fmt.Sprintf("[redacted] %d\n", store.MaxKeptLogs+2))
	ok(t, v.SaveKeptLog(t.Context(), store.KeptLog{Container: "c", Started: at(5), Lines: []byte("more\n")}))
	kept, err = s.KeptLogs(t.Context(), one)
	ok(t, err)
	want(t, "number after the same start", len(kept), store.MaxKeptLogs)
}

func TestAddressesAreGivenOnceAndRestedOnesLast(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	subnet := netip.MustParsePrefix("10.9.1.0/29")
	take := func(container, wanted string) {
		t.Helper()
		ip, err := s.takeAddress(t.Context(), store.AddressRequest{AppID: "net", Container: container})
		ok(t, err)
		want(t, container, ip.String(), wanted)
	}
	if _, err := s.takeAddress(t.Context(), store.AddressRequest{AppID: "net", Container: "a"}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a subnet: %v", err)
	}
	ok(t, s.SaveSubnet(t.Context(), store.Subnet{AppID: "net", Prefix: subnet}))
	ok(t, s.Adopt(t.Context(), "net", "w/there", netip.MustParseAddr("10.9.1.3")))
	take("a", "10.9.1.2")
	take("a", "10.9.1.2")
	take("b", "10.9.1.4")
	ok(t, s.FreeAddress(t.Context(), "net", "a", at(2)))
	take("c", "10.9.1.5")
	take("d", "10.9.1.6")
	ok(t, s.FreeAddress(t.Context(), "net", "b", at(1)))
	take("e", "10.9.1.4")
	take("f", "10.9.1.2")
	_, err := s.takeAddress(t.Context(), store.AddressRequest{AppID: "net", Container: "g"})
	if !errors.Is(err, store.ErrSubnetFull) {
		t.Errorf("full: %v", err)
	}
	again := newStore(s.state)
	ip, err := again.takeAddress(t.Context(), store.AddressRequest{AppID: "net", Container: "w/there"})
	ok(t, err)
	want(t, "after a restart", ip.String(), "10.9.1.3")
}

func TestSubnetsDoNotOverlap(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	ok(t, s.SaveSubnet(t.Context(), store.Subnet{AppID: "a", Prefix: netip.MustParsePrefix("10.9.1.0/24")}))
	err := s.SaveSubnet(t.Context(), store.Subnet{AppID: "b", Prefix: netip.MustParsePrefix("10.9.0.0/16")})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("got %v", err)
	}
	ok(t, s.SaveSubnet(t.Context(), store.Subnet{AppID: "b", Prefix: netip.MustParsePrefix("10.9.2.0/24")}))
	all, err := s.ListSubnets(t.Context())
	ok(t, err)
	want(t, "subnets", fmt.Sprint(all), "[{a 10.9.1.0/24} {b 10.9.2.0/24}]")
}

func TestNetworkGoesWithItsLastMemberAndSubnet(t *testing.T) {
	s := newStore(provider.NewMemoryStore())
	one, two := id.New(id.KindWorkload), id.New(id.KindWorkload)
	ok(t, s.Join(t.Context(), "net", one))
	ok(t, s.Join(t.Context(), "net", two))
	ok(t, s.Join(t.Context(), "net", one))
	ok(t, s.SaveSubnet(t.Context(), store.Subnet{AppID: "net", Prefix: netip.MustParsePrefix("10.9.1.0/24")}))
	_, err := s.takeAddress(t.Context(), store.AddressRequest{AppID: "net", Container: one.String() + "/c"})
	ok(t, err)
	left, err := s.Leave(t.Context(), "net", one, at(1))
	ok(t, err)
	want(t, "left", left, 1)
	held, err := s.ListAddresses(t.Context(), "net")
	ok(t, err)
	want(t, "freed", held[0].FreedAt, at(1))
	left, err = s.Leave(t.Context(), "net", two, at(2))
	ok(t, err)
	want(t, "left", left, 0)
	ok(t, s.DropSubnet(t.Context(), "net"))
	ok(t, s.DropSubnet(t.Context(), "net"))
	left, err = s.Leave(t.Context(), "net", two, at(3))
	ok(t, err)
	want(t, "left of none", left, 0)
	keys, err := s.state.List(t.Context(), "")
	ok(t, err)
	want(t, "records", len(keys), 0)
}
