package instances_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

func TestAMachineIsCreatedRegisteredRenewedAndDeleted(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	ctx := t.Context()
	must(t, l.RebuildCache(ctx))
	made := w.create(l, web())
	if made.ProviderInstanceID == "" || made.Template != "small" || !made.CreatedAt.Equal(w.clock.Now()) {
		t.Fatalf("answer %+v", made)
	}
	again := w.create(l, instances.CreateInstanceRequest{InstanceID: made.InstanceID, Tenant: "acme", Group: "web"})
	if again.RegistrationJWT != made.RegistrationJWT || w.cloud.Made(made.InstanceID) != 1 {
		t.Fatal("a repeated create is another one")
	}
	w.clock.Advance(20 * time.Second)
	status, err := l.GetInstanceStatusFor(ctx, "acme", made.InstanceID)
	must(t, err)
	if status.Status != "running" || status.State != instances.StateCreated {
		t.Fatalf("status %+v", status)
	}
	key := newKey(t)
	got, err := w.register(l, made.RegistrationJWT, key)
	must(t, err)
	if got.InstanceID != made.InstanceID || got.Tenant != "acme" {
		t.Fatalf("registration %+v", got)
	}
	same, err := w.register(l, made.RegistrationJWT, key)
	must(t, err)
	if string(same.CertificatePEM) != string(got.CertificatePEM) {
		t.Fatal("the same key got another certificate within the token's life")
	}
	row, err := l.db.Instance(ctx, made.InstanceID)
	must(t, err)
	if row.RegisteredAt.IsZero() || row.IPv4 != "10.9.9.9" || row.CertSerial == "" {
		t.Fatalf("cached %+v", row)
	}
	renewed, err := l.Renew(ctx, instances.RenewRequest{InstanceID: made.InstanceID, Tenant: "acme", PublicKey: public(key), Serial: row.CertSerial})
	must(t, err)
	must(t, l.DeleteInstanceFor(ctx, "acme", made.InstanceID))
	if !l.Denied(row.CertSerial) {
		t.Fatal("the certificate of a deleted instance still holds")
	}
	_, err = l.Renew(ctx, instances.RenewRequest{InstanceID: made.InstanceID, Tenant: "acme", PublicKey: public(key), Serial: row.CertSerial})
	mustBe(t, err, instances.ErrDenied)
	_, err = w.register(l, made.RegistrationJWT, key)
	mustBe(t, err, instances.ErrInstanceDeleted)
	w.clock.Advance(10 * time.Second)
	must(t, l.DeleteInstanceFor(ctx, "acme", made.InstanceID))
	status, err = l.GetInstanceStatusFor(ctx, "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateDeleted || len(w.own()) != 0 {
		t.Fatalf("after the delete: %+v, %d machines", status, len(w.own()))
	}
	w.noSecrets(made.RegistrationJWT)
	if len(renewed.CertificatePEM) == 0 {
		t.Fatal("nothing was renewed")
	}
	// The record goes at the end of its retention, and denials with the certificates.
	w.clock.Advance(31 * time.Minute)
	report, err := l.Collect(ctx)
	must(t, err)
	if report.Forgotten != 1 || len(w.objects("shard/one/instance/")) != 0 || len(w.objects("shard/one/claim/")) != 0 {
		t.Fatalf("report %+v, %v", report, w.objects("shard/"))
	}
	_, err = w.register(l, made.RegistrationJWT, key)
	if err == nil {
		t.Fatal("the token of a forgotten instance registers")
	}
	if len(w.objects("shard/one/denied/")) != 2 {
		t.Fatalf("denied: %v", w.objects("shard/one/denied/"))
	}
	w.clock.Advance(25 * time.Hour)
	_, err = l.Collect(ctx)
	must(t, err)
	if len(w.objects("shard/one/denied/")) != 0 {
		t.Fatal("denials of certificates that ended stay")
	}
}

func TestWhatCanBeRefusedIsRefusedBeforeAnyEffect(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	request := func(change func(*instances.CreateInstanceRequest)) instances.CreateInstanceRequest {
		r := web()
		change(&r)
		return r
	}
	tests := map[string]struct {
		req  instances.CreateInstanceRequest
		want error
	}{
		"no tenant":             {request(func(r *instances.CreateInstanceRequest) { r.Tenant = "" }), instances.ErrInvalidRequest},
		"a path as tenant":      {request(func(r *instances.CreateInstanceRequest) { r.Tenant = "../acme" }), instances.ErrInvalidRequest},
		"a dot in the tenant":   {request(func(r *instances.CreateInstanceRequest) { r.Tenant = "acme.x" }), instances.ErrInvalidRequest},
		"no group":              {request(func(r *instances.CreateInstanceRequest) { r.Group = "" }), instances.ErrInvalidRequest},
		"an id of another kind": {request(func(r *instances.CreateInstanceRequest) { r.InstanceID = w.ids.New("xyz").String() }), instances.ErrInvalidRequest},
		"an id with a path":     {request(func(r *instances.CreateInstanceRequest) { r.InstanceID = "../../etc/passwd" }), instances.ErrInvalidRequest},
		"missing image":         {request(func(r *instances.CreateInstanceRequest) { r.Template = "noimage" }), instances.ErrMissing},
		"missing var":           {request(func(r *instances.CreateInstanceRequest) { r.Template = "novar" }), instances.ErrMissing},
		"missing secret":        {request(func(r *instances.CreateInstanceRequest) { r.Template = "nosecret" }), instances.ErrMissing},
		"a var nobody set":      {request(func(r *instances.CreateInstanceRequest) { r.Template = "badvar" }), instances.ErrTemplate},
		"an image nobody knows": {request(func(r *instances.CreateInstanceRequest) { r.Template = "badindex" }), instances.ErrTemplate},
		"a nonce that is used":  {request(func(r *instances.CreateInstanceRequest) { r.Template = "badnonce" }), instances.ErrTemplate},
		"a nonce in arguments":  {request(func(r *instances.CreateInstanceRequest) { r.Template = "leakyargs" }), instances.ErrTemplate},
		"a broken template":     {request(func(r *instances.CreateInstanceRequest) { r.Template = "badtemplate" }), instances.ErrTemplate},
		"a tag of ours":         {request(func(r *instances.CreateInstanceRequest) { r.Tags = map[string]string{"berth-shard": "x"} }), infra.ErrInvalidRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := l.CreateInstance(t.Context(), test.req)
			mustBe(t, err, test.want)
			if n := len(w.objects("shard/")); n != 0 || w.cloud.Calls("CreateInstance") != 0 {
				t.Fatalf("%d objects and %d calls are left behind", n, w.cloud.Calls("CreateInstance"))
			}
			if strings.Contains(err.Error(), canary) {
				t.Fatal("the error holds a secret")
			}
		})
	}
}

func TestTheProviderIsToldTheSameBytesAgain(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.Fail})
	_, err := l.CreateInstance(t.Context(), web())
	mustBe(t, err, instances.ErrUnfinished)
	var failed *instances.CreateError
	if !errors.As(err, &failed) {
		t.Fatal("the error does not name the instance")
	}
	// The group changes meanwhile, and another process goes on.
	w.text = strings.Replace(w.text, `"colour": "blue"`, `"colour": "red"`, 1)
	l = w.start()
	req := web()
	req.InstanceID = failed.InstanceID
	made := w.create(l, req)
	if made.InstanceID != failed.InstanceID || w.cloud.Made(made.InstanceID) != 1 {
		t.Fatalf("made %+v", made)
	}
	for key, text := range w.objects("shard/one/instance/") {
		if !strings.Contains(text, "colour=blue") {
			t.Fatalf("%s was not frozen", key)
		}
	}
	req.Vars = map[string]string{"x": "y"}
	_, err = l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrExists)
}

func TestACreateWhoseAnswerWasLostIsFound(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.FailAfter})
	made := w.create(l, web())
	if made.ProviderInstanceID == "" || len(w.own()) != 1 {
		t.Fatalf("made %+v, %d machines", made, len(w.own()))
	}
}

func TestACreateThatIsNotDoneAtItsDeadlineIsGivenUp(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", To: -1, Do: fake.Throttle, For: time.Second})
	_, err := l.CreateInstance(t.Context(), web())
	mustBe(t, err, instances.ErrUnfinished)
	var failed *instances.CreateError
	errors.As(err, &failed)
	w.clock.Advance(6 * time.Minute)
	report, err := l.Collect(t.Context())
	must(t, err)
	if report.Abandoned != 1 {
		t.Fatalf("report %+v", report)
	}
	w.cloud.ClearFaults()
	req := web()
	req.InstanceID = failed.InstanceID
	_, err = l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrAbandoned)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", failed.InstanceID)
	must(t, err)
	if status.State != instances.StateDeleted || len(w.own()) != 0 {
		t.Fatalf("status %+v", status)
	}
}

func TestAProviderWithoutRoomEndsTheRecordAtOnce(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.NoCapacity})
	_, err := l.CreateInstance(t.Context(), web())
	mustBe(t, err, instances.ErrAbandoned)
	mustBe(t, err, infra.ErrNoCapacity)
	rows, err := l.db.Instances(t.Context(), localdb.Query{})
	must(t, err)
	if len(rows) != 0 {
		t.Fatal("what could not be made counts for its group")
	}
}

func TestATenantSeesItsOwnMachinesAlone(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made := w.create(l, web())
	_, err := l.GetInstanceStatusFor(t.Context(), "other", made.InstanceID)
	mustBe(t, err, instances.ErrInstanceNotFound)
	mustBe(t, l.DeleteInstanceFor(t.Context(), "other", made.InstanceID), instances.ErrInstanceNotFound)
	mustBe(t, l.DeleteInstance(instances.WithTenant(t.Context(), "other"), made.InstanceID), instances.ErrInstanceNotFound)
	_, err = l.CreateInstance(t.Context(), instances.CreateInstanceRequest{InstanceID: made.InstanceID, Tenant: "other", Group: "web"})
	mustBe(t, err, instances.ErrExists)
	_, err = l.CreateInstance(instances.WithTenant(t.Context(), "other"), web())
	mustBe(t, err, instances.ErrInvalidRequest)
	if len(w.own()) != 1 {
		t.Fatal("another tenant removed a machine")
	}
	must(t, l.DeleteInstance(t.Context(), made.InstanceID)) // a caller inside
}

func TestADeposedLeaderWritesNothing(t *testing.T) {
	w := newWorld(t)
	old := w.start()
	made := w.create(old, web())
	oldTerm := old.term
	next := w.start()
	must(t, next.RebuildCache(t.Context()))
	if _, err := next.Register(t.Context(), instances.RegisterRequest{Token: made.RegistrationJWT, PublicKey: public(newKey(t))}); err != nil {
		t.Fatal(err)
	}
	w.faulty.Reset()
	check := func(why string) {
		t.Helper()
		_, err := old.CreateInstance(t.Context(), web())
		if why == "told" {
			mustBe(t, err, instances.ErrNotLeader)
		}
		mustBe(t, old.DeleteInstanceFor(t.Context(), "acme", made.InstanceID), instances.ErrNotLeader)
		_, err = old.Collect(t.Context())
		if why == "told" {
			mustBe(t, err, instances.ErrNotLeader)
		}
	}
	check("told")
	if n := len(w.faulty.Effects()); n != 0 {
		t.Fatalf("a deposed leader wrote %d objects", n)
	}
	// One that does not know it yet meets the newer term in the record.
	oldTerm.mu.Lock()
	oldTerm.lost = false
	oldTerm.mu.Unlock()
	check("not told")
	for key, text := range w.objects("shard/one/instance/") {
		if strings.Contains(text, made.InstanceID) && !strings.Contains(text, `"term":2`) {
			t.Fatalf("%s: %s", key, text)
		}
	}
}

func TestAnUnreadableRecordFailsTheRebuildAndTheCollector(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made := w.create(l, web())
	w.create(l, web())
	must(t, l.RebuildCache(t.Context()))
	w.faulty.Inject(storagetest.Fault{At: 1, Mode: storagetest.FailBefore, Ops: []storagetest.Op{storagetest.OpGet}, KeyPrefix: "shard/one/instance/"})
	if err := l.RebuildCache(t.Context()); err == nil {
		t.Fatal("a read that failed was passed over")
	}
	key := ""
	for one := range w.objects("shard/one/instance/") {
		key = one
	}
	old, _, err := w.memory.Get(t.Context(), key)
	must(t, err)
	for _, text := range []string{"", "{", `{"instance_id": "x"}`, string(old) + "{}", strings.Replace(string(old), `"schema":1`, `"schema":99`, 1)} {
		_, err := w.memory.Put(t.Context(), key, []byte(text))
		must(t, err)
		mustBe(t, l.RebuildCache(t.Context()), instances.ErrRecord)
		w.clock.Advance(24 * time.Hour)
		_, err = l.Collect(t.Context())
		mustBe(t, err, instances.ErrRecord)
	}
	if len(w.own()) != 2 {
		t.Fatal("a machine was removed because a record could not be read")
	}
	rows, err := l.db.Instances(t.Context(), localdb.Query{})
	must(t, err)
	if len(rows) != 2 {
		t.Fatalf("the cache has %d rows", len(rows))
	}
	_ = made
}

func TestARebuildRestoresEveryCachedField(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	ctx := t.Context()
	made := w.create(l, instances.CreateInstanceRequest{Tenant: "acme", Group: "web", Tags: map[string]string{"a": "b"}, OnDemand: true})
	_, err := w.register(l, made.RegistrationJWT, newKey(t))
	must(t, err)
	gone := w.create(l, web())
	w.clock.Advance(20 * time.Second) // they have addresses
	_, err = l.Collect(ctx)
	must(t, err)
	must(t, l.DeleteInstanceFor(ctx, "acme", gone.InstanceID))
	before, err := l.db.Instances(ctx, localdb.Query{Deleted: localdb.WithDeleted})
	must(t, err)
	l = w.start()
	must(t, l.RebuildCache(ctx))
	after, err := l.db.Instances(ctx, localdb.Query{Deleted: localdb.WithDeleted})
	must(t, err)
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("%d rows, then %d", len(before), len(after))
	}
	for i := range before {
		before[i].ProviderState, after[i].ProviderState = nil, nil
		if a, b := text(before[i]), text(after[i]); a != b {
			t.Errorf("before %s\nafter  %s", a, b)
		}
	}
	if after[0].InfraConfigHash == "" || after[0].NonceHash == "" || after[0].Template == "" {
		t.Fatal("a field is missing")
	}
	if l.Denied("nothing") {
		t.Fatal("something is denied that never was")
	}
	// Health is measured again, and stays meanwhile.
	must(t, l.db.SetHealth(ctx, made.InstanceID, w.clock.Now(), []byte(`{"ok":true}`)))
	must(t, l.RebuildCache(ctx))
	row, err := l.db.Instance(ctx, made.InstanceID)
	must(t, err)
	if row.HealthAt.IsZero() {
		t.Fatal("health was lost")
	}
}

func TestAReadersContextEndsARebuild(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.create(l, web())
	ctx, cancel := context.WithCancel(t.Context())
	w.faulty.Before(func(ctx context.Context, c storagetest.Call) error {
		if c.Op == storagetest.OpGet {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	})
	mustBe(t, l.RebuildCache(ctx), context.Canceled)
}

func text(i localdb.Instance) string {
	raw, err := json.Marshal(i)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
