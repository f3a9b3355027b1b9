package instances_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/instances/wire"
)

func attic() instances.JoinRequest {
	return instances.JoinRequest{Tenant: "acme", Name: "attic", Labels: map[string]string{"disk": "ssd"}, Life: time.Hour}
}

func (w *world) mint(l *leader, req instances.JoinRequest) (*instances.JoinResponse, *wire.JoinToken) {
	w.t.Helper()
	made, err := l.JoinHost(w.t.Context(), req)
	must(w.t, err)
	token, err := wire.ParseJoinToken(made.Token)
	must(w.t, err)
	return made, token
}

func (w *world) collect(l *leader, times int, apart time.Duration) instances.CollectReport {
	w.t.Helper()
	var all instances.CollectReport
	for range times {
		w.clock.Advance(apart)
		r, err := l.Collect(w.t.Context())
		must(w.t, err)
		all.Vanished += r.Vanished
		all.Unregistered += r.Unregistered
		all.Adopted += r.Adopted
		all.Orphans += r.Orphans
	}
	return all
}

func TestAJoinedHostIsAnInstanceThatNoProviderIsAskedAbout(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	before := w.cloud.Calls("")
	made, token := w.mint(l, attic())
	if token.InstanceID != made.InstanceID || token.ClusterID != "prod" || token.Shard != "one" || token.RegistrationAddr != "10.0.0.5:8992" ||
		token.AgentAddr != "10.0.0.5:8994" || len(token.Authorities) != 1 || !made.ExpiresAt.Equal(w.clock.Now().Add(time.Hour).Truncate(time.Millisecond)) {
		t.Fatalf("%+v, %+v", made, token)
	}
	key := newKey(t)
	_, err := w.register(l, token.Token, key)
	must(t, err)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateRegistered || status.Status != string(infra.StatusRunning) || status.Tags["disk"] != "ssd" || status.Tags[instances.TagName] != "attic" {
		t.Fatalf("%+v", status)
	}
	if n := w.cloud.Calls("") - before; n != 0 {
		t.Errorf("the provider was asked %d times", n)
	}
	w.noSecrets(token.Token, made.Token)
}

func TestAJoinedHostIsNeverTakenForGone(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, token := w.mint(l, attic())
	_, err := w.register(l, token.Token, newKey(t))
	must(t, err)
	if r := w.collect(l, 20, time.Hour); r != (instances.CollectReport{}) {
		t.Fatalf("collected %+v", r)
	}
	l = w.start()
	must(t, l.RebuildCache(t.Context()))
	w.collect(l, 3, time.Hour)
	row, err := l.db.Instance(t.Context(), made.InstanceID)
	must(t, err)
	if row.Group != instances.JoinedGroup || row.Tags[instances.TagName] != "attic" || row.RegisteredAt.IsZero() || row.ProviderID != "" {
		t.Fatalf("cached %+v", row)
	}
}

func TestAProviderThatLiesAboutAJoinedHostChangesNothing(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, token := w.mint(l, attic())
	_, err := w.register(l, token.Token, newKey(t))
	must(t, err)
	w.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "one", infra.TagInstance: made.InstanceID})
	w.collect(l, 4, 20*time.Minute)
	must(t, l.RebuildCache(t.Context()))
	row, err := l.db.Instance(t.Context(), made.InstanceID)
	must(t, err)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if row.ProviderID != "" || status.ProviderInstanceID != "" || status.State != instances.StateRegistered {
		t.Fatalf("cached %+v, status %+v", row, status)
	}
	must(t, l.DeleteInstanceFor(t.Context(), "acme", made.InstanceID))
	if len(w.own()) != 1 {
		t.Error("a machine that is not the host's was removed with it")
	}
}

func TestARemovedHostIsLetInNoMoreAndItsNameIsFree(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, token := w.mint(l, attic())
	key := newKey(t)
	got, err := w.register(l, token.Token, key)
	must(t, err)
	serial := w.serialOf(made.InstanceID)
	must(t, l.DeleteInstanceFor(t.Context(), "acme", made.InstanceID))
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateDeleted || !l.Denied(serial) || got.InstanceID != made.InstanceID {
		t.Fatalf("%s, denied %v", status.State, l.Denied(serial))
	}
	_, err = l.Renew(t.Context(), instances.RenewRequest{InstanceID: made.InstanceID, Tenant: "acme", PublicKey: public(key), Serial: serial})
	mustBe(t, err, instances.ErrDenied)
	_, err = w.register(l, token.Token, key)
	mustBe(t, err, instances.ErrInstanceDeleted)
	again, _ := w.mint(l, attic())
	if again.InstanceID == made.InstanceID || again.Token == made.Token {
		t.Fatal("the next host of the name is the same")
	}
}

// serialOf is that of an instance's newest certificate.
func (w *world) serialOf(instanceID string) string {
	w.t.Helper()
	key, err := instances.StorageKey(instanceID)
	must(w.t, err)
	_, after, _ := strings.Cut(w.objects("shard/one/instance/acme." + key)["shard/one/instance/acme."+key+".json"], `"cert_serial":"`)
	serial, _, _ := strings.Cut(after, `"`)
	return serial
}

func TestAHostThatDoesNotJoinInTimeIsForgotten(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, token := w.mint(l, attic())
	w.collect(l, 3, 20*time.Minute)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateCreated {
		t.Fatalf("before its time is over it is %s", status.State)
	}
	if r := w.collect(l, 2, 10*time.Minute); r.Unregistered != 1 {
		t.Fatalf("%+v", r)
	}
	_, err = w.register(l, token.Token, newKey(t))
	if !errors.Is(err, instances.ErrInstanceDeleted) && !errors.Is(err, instances.ErrTokenExpired) {
		t.Fatal(err)
	}
	w.mint(l, attic())
}

func TestATokenOfAHostBelongsToOneKeyAndEnds(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	_, token := w.mint(l, attic())
	key := newKey(t)
	_, err := w.register(l, token.Token, key)
	must(t, err)
	_, err = w.register(l, token.Token, newKey(t))
	mustBe(t, err, instances.ErrTokenUsed)
	_, err = w.register(l, token.Token, key)
	must(t, err)
	cellar := attic()
	cellar.Name = "cellar"
	_, late := w.mint(l, cellar)
	w.clock.Advance(time.Hour + 10*time.Minute)
	_, err = w.register(l, late.Token, newKey(t))
	mustBe(t, err, instances.ErrTokenExpired)
}

func TestANameIsOfOneHost(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, token := w.mint(l, attic())
	_, err := l.JoinHost(t.Context(), attic())
	mustBe(t, err, instances.ErrExists)
	other := attic()
	other.Tenant = "other"
	_, err = l.JoinHost(t.Context(), other)
	mustBe(t, err, instances.ErrExists)
	_, err = w.register(l, token.Token, newKey(t))
	must(t, err)
	_, err = w.start().JoinHost(t.Context(), attic()) // with an empty cache
	mustBe(t, err, instances.ErrExists)
	if made.Name != "attic" {
		t.Error(made.Name)
	}
}

func TestOfManyWhoAskForOneNameOneGetsIt(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, refused := 0, 0
	for range 16 {
		wg.Go(func() {
			_, err := l.JoinHost(context.Background(), attic())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, instances.ErrExists):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 || refused != 15 {
		t.Errorf("%d won, %d were refused", won, refused)
	}
}

func TestAJoinThatIsNoneIsRefusedBeforeAnythingIsDone(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	before := len(w.objects("shard/"))
	for what, change := range map[string]func(*instances.JoinRequest){
		"no name":         func(r *instances.JoinRequest) { r.Name = "" },
		"a path":          func(r *instances.JoinRequest) { r.Name = "../instance/x" },
		"a dot":           func(r *instances.JoinRequest) { r.Name = "a.b" },
		"upper case":      func(r *instances.JoinRequest) { r.Name = "Attic" },
		"a command":       func(r *instances.JoinRequest) { r.Name = "$(reboot)" },
		"a line":          func(r *instances.JoinRequest) { r.Name = "attic\n" },
		"a dash last":     func(r *instances.JoinRequest) { r.Name = "attic-" },
		"a digit first":   func(r *instances.JoinRequest) { r.Name = "1attic" },
		"too long":        func(r *instances.JoinRequest) { r.Name = strings.Repeat("a", 49) },
		"no tenant":       func(r *instances.JoinRequest) { r.Tenant = "" },
		"a tenant's path": func(r *instances.JoinRequest) { r.Tenant = "a/b" },
		"the name's tag":  func(r *instances.JoinRequest) { r.Labels = map[string]string{instances.TagName: "x"} },
		"too short":       func(r *instances.JoinRequest) { r.Life = time.Second },
		"for ever":        func(r *instances.JoinRequest) { r.Life = 8 * 24 * time.Hour },
	} {
		req := attic()
		change(&req)
		_, err := l.JoinHost(t.Context(), req)
		if !errors.Is(err, instances.ErrInvalidRequest) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := l.JoinHost(instances.WithTenant(t.Context(), "other"), attic())
	mustBe(t, err, instances.ErrInvalidRequest)
	l.term.lose()
	_, err = l.JoinHost(t.Context(), attic())
	mustBe(t, err, instances.ErrNotLeader)
	if after := len(w.objects("shard/")); after != before {
		t.Errorf("%d objects, there were %d", after, before)
	}
}

func TestANameThatNobodyCameToUseGoesOnWithItsID(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	// The claim is written, and then nothing is.
	w.faulty.Inject(storagetest.Fault{At: 2, Mode: storagetest.FailBefore, Ops: []storagetest.Op{storagetest.OpPutIfMatch}, Err: errCut, Dies: true})
	_, err := l.JoinHost(t.Context(), attic())
	if err == nil {
		t.Fatal("it was not cut")
	}
	w.faulty.Reset()
	claims := w.objects("shard/one/joined/")
	made, _ := w.mint(w.start(), attic())
	if len(claims) != 1 || !strings.Contains(claims["shard/one/joined/attic.json"], made.InstanceID) {
		t.Errorf("%v, then %s", claims, made.InstanceID)
	}
}

func TestAClaimThatCannotBeReadGivesNameToNobody(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	_, err := w.memory.Put(t.Context(), "shard/one/joined/attic.json", []byte("{"))
	must(t, err)
	_, err = l.JoinHost(t.Context(), attic())
	mustBe(t, err, instances.ErrRecord)
}

func TestClaimsOfNamesThatNobodyHasAreSwept(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	kept, token := w.mint(l, attic())
	_, err := w.register(l, token.Token, newKey(t))
	must(t, err)
	gone := attic()
	gone.Name = "cellar"
	removed, _ := w.mint(l, gone)
	must(t, l.DeleteInstanceFor(t.Context(), "acme", removed.InstanceID))
	w.collect(l, 1, time.Minute)
	if n := len(w.objects("shard/one/joined/")); n != 2 {
		t.Fatalf("%d claims while they are young", n)
	}
	w.collect(l, 1, 25*time.Hour)
	names := w.objects("shard/one/joined/")
	if _, ok := names["shard/one/joined/attic.json"]; !ok || len(names) != 1 {
		t.Errorf("%v are left, %s is there", names, kept.InstanceID)
	}
}
