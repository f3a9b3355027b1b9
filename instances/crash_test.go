package instances_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/instances/wire"
)

var errCut = errors.New("the process was killed")

// cut says where a process dies: before or after the number-th call of the store or of
// the provider.
type cut struct {
	provider bool
	number   int
	after    bool
}

func (c cut) String() string {
	where, when := "store", "before"
	if c.provider {
		where = "provider"
	}
	if c.after {
		when = "after"
	}
	return fmt.Sprintf("%s call %d, %s", where, c.number, when)
}

var allOps = []storagetest.Op{
	storagetest.OpGet, storagetest.OpPut, storagetest.OpPutIfMatch, storagetest.OpDelete,
	storagetest.OpDeleteIfMatch, storagetest.OpExists, storagetest.OpList, storagetest.OpGetMetadata,
}

// kill arranges that everything fails from the cut on, as for a process that is no more.
func (w *world) kill(c cut) {
	dead := false
	if !c.provider {
		mode := storagetest.FailBefore
		if c.after {
			mode = storagetest.FailAfter
		}
		w.faulty.Inject(storagetest.Fault{At: c.number, Mode: mode, Ops: allOps, Err: errCut, Dies: true})
	}
	n := 0
	w.cloud.OnCall(func(_ context.Context, call fake.Call) error {
		if !c.provider && w.faulty.Pending() == 0 {
			dead = true
		}
		if !call.After {
			n++
		}
		if dead {
			return errCut
		}
		if c.provider && n == c.number && call.After == c.after {
			dead = true
			w.faulty.Kill()
			return errCut
		}
		return nil
	})
}

func (w *world) revive() {
	w.faulty.Reset()
	w.cloud.OnCall(nil)
}

// agent is what a machine remembers: its key for ever, and whether it was answered.
type agent struct {
	instanceID, token string
	key               ed25519.PrivateKey
	registered        bool
}

func (a *agent) register(w *world, l *leader) {
	if _, err := w.register(l, a.token, a.key); err == nil {
		a.registered = true
	}
}

// scene is a world with machines in it.
type scene struct {
	*world
	l         *leader
	bystander *agent
	target    *agent
	createdID string
	deleted   bool
	hosts     bool // the target is a host that joins
}

func newScene(t testing.TB) *scene {
	s := &scene{world: newWorld(t)}
	s.l = s.start()
	made := s.create(s.l, web())
	s.bystander = &agent{instanceID: made.InstanceID, token: made.RegistrationJWT, key: newKey(t)}
	s.clock.Advance(15 * time.Second)
	s.bystander.register(s.world, s.l)
	return s
}

func (s *scene) withTarget() *scene {
	made := s.create(s.l, instances.CreateInstanceRequest{Tenant: "acme", Group: "extra"})
	s.target = &agent{instanceID: made.InstanceID, token: made.RegistrationJWT, key: newKey(s.t)}
	s.clock.Advance(15 * time.Second)
	return s
}

// operation is one that is cut everywhere. again is what whoever asked for it does when
// there is a new leader.
type operation struct {
	name    string
	prepare func(testing.TB) *scene
	run     func(*scene) error
	again   func(*scene) error
}

func operations() []operation {
	ctx := context.Background()
	create := func(s *scene) error {
		req := instances.CreateInstanceRequest{InstanceID: s.createdID, Tenant: "acme", Group: "extra"}
		made, err := s.l.CreateInstance(ctx, req)
		var failed *instances.CreateError
		if errors.As(err, &failed) {
			s.createdID = failed.InstanceID
		}
		if err == nil {
			s.createdID = made.InstanceID
			s.target = &agent{instanceID: made.InstanceID, token: made.RegistrationJWT, key: newKey(s.t)}
		}
		return err
	}
	register := func(s *scene) error { s.target.register(s.world, s.l); return nil }
	remove := func(s *scene) error {
		err := s.l.DeleteInstanceFor(ctx, "acme", s.target.instanceID)
		s.deleted = s.deleted || err == nil
		return err
	}
	nothing := func(*scene) error { return nil }
	joinOnce := func(s *scene) error {
		made, err := s.l.JoinHost(ctx, instances.JoinRequest{Tenant: "acme", Name: "attic", Life: 30 * time.Minute})
		if err != nil {
			return err
		}
		token, err := wire.ParseJoinToken(made.Token)
		if err == nil {
			s.target = &agent{instanceID: made.InstanceID, token: token.Token, key: newKey(s.t)}
		}
		return err
	}
	// Whoever asked for the join and heard nothing asks again. If the host is there
	// already, its token is lost, and it is removed first.
	joinAgain := func(s *scene) error {
		if s.target != nil {
			return register(s)
		}
		err := joinOnce(s)
		if errors.Is(err, instances.ErrExists) {
			err = s.l.DeleteInstanceFor(ctx, "acme", s.joinedID())
			if err == nil {
				err = joinOnce(s)
			}
		}
		if err != nil {
			return err
		}
		return register(s)
	}
	return []operation{
		{"join, asked for again", newHostScene, joinOnce, joinAgain},
		{"join, nobody comes back", newHostScene, joinOnce, nothing},
		{"registration of a host", func(t testing.TB) *scene { return newHostScene(t).withHost() }, register, register},
		{"registration of a host, which dies as well", func(t testing.TB) *scene { return newHostScene(t).withHost() }, register, nothing},
		{"removal of a host", func(t testing.TB) *scene {
			s := newHostScene(t).withHost()
			s.target.register(s.world, s.l)
			return s
		}, remove, remove},
		{"removal of a host, and a new one of its name", func(t testing.TB) *scene {
			s := newHostScene(t).withHost()
			s.target.register(s.world, s.l)
			must(t, s.l.DeleteInstanceFor(ctx, "acme", s.target.instanceID))
			s.target = nil
			return s
		}, joinOnce, joinAgain},
		{"create, asked for again", newScene, create, func(s *scene) error {
			if err := create(s); err != nil {
				return err
			}
			return register(s)
		}},
		{"create, nobody comes back", newScene, create, nothing},
		{"register", func(t testing.TB) *scene { return newScene(t).withTarget() }, register, register},
		{"register, the machine dies as well", func(t testing.TB) *scene { return newScene(t).withTarget() }, register, nothing},
		{"renew", func(t testing.TB) *scene {
			s := newScene(t).withTarget()
			s.target.register(s.world, s.l)
			return s
		}, func(s *scene) error {
			_, err := s.l.Renew(ctx, instances.RenewRequest{InstanceID: s.target.instanceID, Tenant: "acme", PublicKey: public(s.target.key), Serial: "1"})
			return err
		}, nothing},
		{"delete", func(t testing.TB) *scene {
			s := newScene(t).withTarget()
			s.target.register(s.world, s.l)
			return s
		}, remove, remove},
		{"delete of an unregistered machine, nobody comes back", func(t testing.TB) *scene { return newScene(t).withTarget() }, remove, nothing},
		{"rebuild", func(t testing.TB) *scene { return newScene(t).withTarget() }, func(s *scene) error { return s.l.RebuildCache(ctx) }, register},
		{"collect", leftovers, func(s *scene) error { _, err := s.l.Collect(ctx); return err }, nothing},
	}
}

func newHostScene(t testing.TB) *scene {
	s := newScene(t)
	s.hosts = true
	return s
}

// withHost is a host that may join.
func (s *scene) withHost() *scene {
	_, token := s.mint(s.l, instances.JoinRequest{Tenant: "acme", Name: "attic", Life: 30 * time.Minute})
	s.target = &agent{instanceID: token.InstanceID, token: token.Token, key: newKey(s.t)}
	return s
}

// joinedRecords are the records of hosts that are to stay.
func (s *scene) joinedRecords() []instances.InstanceRecord {
	var all []instances.InstanceRecord
	for _, text := range s.objects("shard/one/instance/") {
		var r instances.InstanceRecord
		must(s.t, json.Unmarshal([]byte(text), &r))
		if r.Joined != nil && !r.State.Leaving() {
			all = append(all, r)
		}
	}
	return all
}

func (s *scene) joinedID() string {
	if all := s.joinedRecords(); len(all) == 1 {
		return all[0].InstanceID
	}
	return ""
}

// checkHosts is what must hold of hosts that join.
func (s *scene) checkHosts() {
	s.t.Helper()
	all := s.joinedRecords()
	if len(all) > 1 {
		s.t.Errorf("%d hosts have one name", len(all))
	}
	for _, r := range all {
		if r.RegisteredAt == nil {
			s.t.Errorf("host %s is %s for ever, and nobody has its token", r.InstanceID, r.State)
		}
		if r.ProviderInstanceID != "" {
			s.t.Errorf("host %s has the machine %s", r.InstanceID, r.ProviderInstanceID)
		}
	}
	if s.target != nil && s.target.registered && !s.deleted && s.joinedID() != s.target.instanceID {
		s.t.Errorf("host %s registered and is not there", s.target.instanceID)
	}
	if s.deleted && len(all) > 0 {
		s.t.Errorf("host %s was removed and is there", s.target.instanceID)
	}
	_, err := s.l.JoinHost(context.Background(), instances.JoinRequest{Tenant: "acme", Name: "attic"})
	if taken := len(all) == 1; taken != errors.Is(err, instances.ErrExists) || !taken && err != nil {
		s.t.Errorf("with %d hosts of its name a join ends with %v", len(all), err)
	}
}

// leftovers is a shard in which everything is wrong that a collector puts right.
func leftovers(t testing.TB) *scene {
	s := newScene(t)
	ctx := t.Context()
	old := s.create(s.l, web()) // its retention will be over
	must(t, s.l.DeleteInstanceFor(ctx, "acme", old.InstanceID))
	s.clock.Advance(10 * time.Second)
	must(t, s.l.DeleteInstanceFor(ctx, "acme", old.InstanceID))
	s.clock.Advance(20 * time.Minute)
	vanished := s.create(s.l, web())
	v := &agent{instanceID: vanished.InstanceID, token: vanished.RegistrationJWT, key: newKey(t)}
	v.register(s.world, s.l)
	s.create(s.l, web()) // it never registers
	// A create that never gets through, and one that did without anybody knowing.
	s.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.Fail})
	_, err := s.l.CreateInstance(ctx, web())
	mustBe(t, err, instances.ErrUnfinished)
	s.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.FailAfter}, fake.Fault{Method: "GetInstanceStatus", Do: fake.Fail})
	_, err = s.l.CreateInstance(ctx, web())
	mustBe(t, err, instances.ErrUnfinished)
	orphan := s.ids.New("wrk").String()
	s.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "one", infra.TagInstance: orphan})
	s.cloud.Place(map[string]string{infra.TagCluster: "prod", infra.TagShard: "two", infra.TagInstance: s.ids.New("wrk").String()})
	s.cloud.Place(nil)
	s.cloud.Vanish(vanished.InstanceID)
	s.clock.Advance(16 * time.Minute)
	_, err = s.l.Collect(ctx)
	must(t, err)
	s.clock.Advance(2 * time.Minute)
	return s
}

// converge is what the next leaders do.
func (s *scene) converge(op operation) {
	s.revive()
	s.l = s.start()
	ctx := context.Background()
	must(s.t, s.l.RebuildCache(ctx))
	err := op.again(s)
	for i := range 10 {
		if err == nil || errors.Is(err, instances.ErrAbandoned) {
			break
		}
		if i == 9 {
			s.t.Errorf("asked for again: %v", err)
		}
		err = op.again(s)
	}
	for range 14 {
		if _, err := s.l.Collect(ctx); err != nil {
			s.t.Errorf("collect: %v", err)
		}
		s.clock.Advance(5 * time.Minute)
	}
}

// check is what must hold whatever happened.
func (s *scene) check() {
	s.t.Helper()
	alive := map[string]bool{}
	for _, one := range s.own() {
		if alive[one.InstanceID] {
			s.t.Errorf("instance %s has two machines", one.InstanceID)
		}
		alive[one.InstanceID] = true
	}
	for _, event := range s.cloud.History() {
		if event.InstanceID != "" && s.cloud.Made(event.InstanceID) > 1 {
			s.t.Errorf("instance %s was made twice", event.InstanceID)
		}
	}
	if s.hosts {
		s.checkHosts()
	}
	known := map[string]instances.InstanceRecord{}
	for key, text := range s.objects("shard/one/instance/") {
		var r instances.InstanceRecord
		must(s.t, json.Unmarshal([]byte(text), &r))
		if r.Joined != nil {
			continue // checkHosts looks at them
		}
		if r.State.Leaving() {
			if alive[r.InstanceID] {
				s.t.Errorf("%s leaves and has a machine still", key)
			}
			continue
		}
		if r.State == instances.StatePending || r.ProviderInstanceID == "" {
			s.t.Errorf("%s is %s for ever", key, r.State)
		}
		if !alive[r.InstanceID] {
			s.t.Errorf("%s has no machine", key)
		}
		known[r.InstanceID] = r
	}
	for instanceID := range alive {
		if _, ok := known[instanceID]; !ok {
			s.t.Errorf("the machine of %s is leaked", instanceID)
		}
	}
	agents := []*agent{s.bystander}
	if s.target != nil && !s.deleted && !s.hosts {
		agents = append(agents, s.target)
	}
	for _, a := range agents {
		r := known[a.instanceID]
		if a.registered && (!alive[a.instanceID] || r.RegisteredAt == nil || r.CertSerial == "") {
			s.t.Errorf("the registration of %s is lost: %+v", a.instanceID, r.State)
		}
	}
	if s.deleted && alive[s.target.instanceID] {
		s.t.Errorf("%s was deleted and is there", s.target.instanceID)
	}
	if others := len(s.cloud.Alive()) - len(s.own()); strings.Contains(s.t.Name(), "collect") && others != 2 {
		s.t.Errorf("%d machines of others, there were 2", others)
	}
	tokens := []string{s.bystander.token}
	if s.target != nil {
		tokens = append(tokens, s.target.token)
	}
	s.noSecrets(tokens...)
}

func TestAProcessMayDieBetweenAnyTwoEffects(t *testing.T) {
	total := 0
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			s := op.prepare(t)
			s.faulty.Reset()
			before := s.cloud.Calls("")
			must(t, op.run(s))
			store, provider := len(s.faulty.Calls()), s.cloud.Calls("")-before
			s.converge(op)
			s.check()
			var cuts []cut
			for n := range store {
				cuts = append(cuts, cut{false, n + 1, false}, cut{false, n + 1, true})
			}
			for n := range provider {
				cuts = append(cuts, cut{true, n + 1, false}, cut{true, n + 1, true})
			}
			total += len(cuts)
			for i, c := range cuts {
				if inBrief() && i%5 != 0 {
					continue
				}
				t.Run(c.String(), func(t *testing.T) {
					t.Parallel()
					s := op.prepare(t)
					s.faulty.Reset()
					s.kill(c)
					_ = op.run(s)
					s.converge(op)
					s.check()
				})
			}
			t.Logf("%s: %d cut points (%d calls of the store, %d of the provider)", op.name, len(cuts), store, provider)
		})
	}
	t.Logf("machines: %d cut points", total)
	if total < 100 {
		t.Errorf("only %d cut points", total)
	}
}
