package instances_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/storage"
)

// eager is a provider whose machines boot and ask while their create is under way.
type eager struct {
	infra.Provider
	booted func(token string)
}

func (p eager) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	made, err := p.Provider.CreateInstance(ctx, req)
	if err == nil {
		_, token, _ := strings.Cut(req.UserData.RevealString(), "nonce=")
		token, _, _ = strings.Cut(token, " ")
		p.booted(token)
	}
	return made, err
}

func TestAnAgentThatIsFasterThanItsCreateStaysRegistered(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	key := newKey(t)
	var l *leader
	var serial string
	l = w.start(func(o *instances.ManagerOptions) {
		o.Provider = eager{o.Provider, func(token string) {
			_, err := w.register(l, token, key)
			must(t, err)
			rows := w.objects("shard/one/instance/")
			for _, text := range rows {
				_, serial, _ = strings.Cut(text, `"cert_serial":"`)
				serial, _, _ = strings.Cut(serial, `"`)
			}
		}}
	})
	made := w.create(l, web())
	registered := func(l *leader) {
		t.Helper()
		status, err := l.GetInstanceStatusFor(ctx, "acme", made.InstanceID)
		must(t, err)
		row, err := l.db.Instance(ctx, made.InstanceID)
		must(t, err)
		if status.State != instances.StateRegistered || row.RegisteredAt.IsZero() || row.ProviderID != made.ProviderInstanceID ||
			row.IPv4 != "10.9.9.9" || serial == "" || row.CertSerial != serial {
			t.Fatalf("state %s, certificate %s, cached %+v", status.State, serial, row)
		}
	}
	registered(l)
	_, err := w.register(l, made.RegistrationJWT, newKey(t))
	mustBe(t, err, instances.ErrTokenUsed)
	l = w.start()
	must(t, l.RebuildCache(ctx))
	registered(l)
	for range 4 {
		w.clock.Advance(10 * time.Minute)
		_, err = l.Collect(ctx)
		must(t, err)
	}
	registered(l)
}

func TestATokenStaysItsKeysWhenAnotherLeads(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	made, key := w.create(l, web()), newKey(t)
	first, err := w.register(l, made.RegistrationJWT, key)
	must(t, err)
	next := w.start() // with an empty cache
	_, err = w.register(next, made.RegistrationJWT, newKey(t))
	mustBe(t, err, instances.ErrTokenUsed)
	again, err := w.register(next, made.RegistrationJWT, key)
	must(t, err)
	if string(again.CertificatePEM) != string(first.CertificatePEM) {
		t.Fatal("the key that holds it got another certificate")
	}
}

func TestAMachineThatIsGoneIsNotMadeAgainUnderItsID(t *testing.T) {
	w := newWorld(t, func(o *fake.Options) { o.Forgets = true })
	l := w.start()
	made := w.create(l, web())
	w.cloud.Vanish(made.InstanceID)
	req := web()
	req.InstanceID = made.InstanceID
	_, err := l.CreateInstance(t.Context(), req)
	must(t, err) // it was made; that it is gone is for the collector to find out
	for range 4 {
		w.clock.Advance(10 * time.Minute)
		_, err = l.Collect(t.Context())
		must(t, err)
	}
	_, err = l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrAbandoned)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if n := w.cloud.Made(made.InstanceID); n != 1 || status.State != instances.StateDeleted {
		t.Fatalf("it is %s and was made %d times", status.State, n)
	}
}

func TestAMachineThatWasNeverMadeCanBeDeleted(t *testing.T) {
	w := newWorld(t)
	l := w.start()
	w.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.Fail})
	req := web()
	req.InstanceID = w.ids.New("wrk").String()
	_, err := l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrUnfinished)
	must(t, l.DeleteInstanceFor(t.Context(), "acme", req.InstanceID))
	_, err = l.CreateInstance(t.Context(), req)
	mustBe(t, err, instances.ErrAbandoned)
	w.clock.Advance(6 * time.Minute) // no create is on its way any more
	_, err = l.Collect(t.Context())
	must(t, err)
	status, err := l.GetInstanceStatusFor(t.Context(), "acme", req.InstanceID)
	must(t, err)
	if n := w.cloud.Made(req.InstanceID); n != 0 || status.State != instances.StateDeleted {
		t.Fatalf("it is %s and was made %d times", status.State, n)
	}
}

// together is a store whose reads of records end only when so many are under way.
type together struct {
	storage.Storage
	need int32
	now  *atomic.Int32
	all  chan struct{}
}

func (s together) Get(ctx context.Context, key string) ([]byte, string, error) {
	if strings.Contains(key, "/instance/") {
		if s.now.Add(1) == s.need {
			close(s.all)
		}
		select {
		case <-s.all:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
	return s.Storage.Get(ctx, key)
}

func TestARebuildReadsManyRecordsAtOnce(t *testing.T) {
	const many = 64
	w := newWorld(t)
	w.fill(w.start(), many)
	l := w.start(func(o *instances.ManagerOptions) {
		o.Readers, o.Storage = 0, together{w.memory, many, new(atomic.Int32), make(chan struct{})}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, l.RebuildCache(ctx))
}
