package ca_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
	"github.com/berth-cloud/berth/instances/wire"
	libsecrets "github.com/berth-cloud/berth/secrets"
)

// world is where an authority lives: certificates and sealed keys in one store.
type world struct {
	clock  *fake.Clock
	memory *storage.Memory
	faulty *storagetest.Faulty
	opts   ca.Options
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{clock: fake.NewClock(time.Time{}), memory: storage.NewMemory()}
	w.faulty = storagetest.NewFaulty(w.memory)
	key, err := secrets.NewKey(libsecrets.NewSecret([]byte(strings.Repeat("k", secrets.KeyBytes))))
	must(t, err)
	sealed, err := secrets.NewObjects(w.faulty, secrets.Keys{Primary: key})
	must(t, err)
	w.opts = ca.Options{Storage: w.faulty, Secrets: sealed, ClusterID: "prod", Now: w.clock.Now}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func issue(t testing.TB, a *ca.Authority, r ca.Request) *x509.Certificate {
	t.Helper()
	if r.PublicKey == nil {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		must(t, err)
		r.PublicKey = public
	}
	cert, err := a.Issue(r)
	must(t, err)
	block, _ := pem.Decode(cert.PEM)
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	if wire.SerialText(leaf) != cert.Serial {
		t.Fatalf("serial %s, in the certificate %s", cert.Serial, wire.SerialText(leaf))
	}
	return leaf
}

func agent() ca.Request {
	return ca.Request{Role: wire.RoleAgent, Name: "knc06bgm7733st2576nx5jht4ecjw", Tenant: "acme"}
}

func TestAllWhoOpenAtOnceHaveOneAuthority(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	pems := make([]string, 8)
	for i := range pems {
		group.Go(func() {
			a, err := ca.Open(t.Context(), w.opts)
			if err != nil {
				t.Error(err)
				return
			}
			pems[i] = string(a.CAPEM())
		})
	}
	group.Wait()
	for _, one := range pems {
		if one != pems[0] || one == "" {
			t.Fatal("there are several authorities")
		}
	}
}

func TestAProcessThatDiesWhileItMakesTheAuthorityLeavesNothingToRepair(t *testing.T) {
	w := newWorld(t)
	_, err := ca.Open(t.Context(), w.opts)
	must(t, err)
	effects := len(w.faulty.Effects())
	cuts := 0
	for n := range effects {
		for _, mode := range []storagetest.Mode{storagetest.FailBefore, storagetest.FailAfter} {
			t.Run(fmt.Sprintf("write %d mode %d", n+1, mode), func(t *testing.T) {
				cuts++
				w := newWorld(t)
				w.faulty.Inject(storagetest.Fault{At: n + 1, Mode: mode, Dies: true})
				_, err := ca.Open(t.Context(), w.opts)
				if err == nil {
					t.Fatal("the cut did not happen")
				}
				w.faulty.Reset()
				a, err := ca.Open(t.Context(), w.opts)
				must(t, err)
				b, err := ca.Open(t.Context(), w.opts)
				must(t, err)
				if string(a.CAPEM()) != string(b.CAPEM()) {
					t.Fatal("two authorities")
				}
			})
		}
	}
	t.Logf("%d cut points", cuts)
}

func TestAnAuthorityIsNeverMadeInPlaceOfOneThatCannotBeRead(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"the store is away": func(w *world) {
			w.faulty.Inject(storagetest.Fault{At: 1, Mode: storagetest.FailBefore, Ops: []storagetest.Op{storagetest.OpGet}})
		},
		"the bundle is damaged": func(w *world) { _, _ = w.memory.Put(context.Background(), ca.BundleKey, []byte("{")) },
		"the key is gone": func(w *world) {
			all, _ := w.memory.List(context.Background(), "")
			for _, one := range all {
				if one.Key != ca.BundleKey {
					_ = w.memory.Delete(context.Background(), one.Key)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, err := ca.Open(t.Context(), w.opts)
			must(t, err)
			before, _, err := w.memory.Get(t.Context(), ca.BundleKey)
			must(t, err)
			spoil(w)
			if _, err := ca.Open(t.Context(), w.opts); err == nil {
				t.Fatal("it opened")
			}
			after, _, err := w.memory.Get(t.Context(), ca.BundleKey)
			must(t, err)
			if name != "the bundle is damaged" && string(before) != string(after) {
				t.Fatal("it was replaced")
			}
		})
	}
}

func TestACertificateSaysWhoWhatAndForHowLong(t *testing.T) {
	w := newWorld(t)
	a, err := ca.Open(t.Context(), w.opts)
	must(t, err)
	leaf := issue(t, a, agent())
	who, err := a.Verify(leaf, x509.ExtKeyUsageClientAuth)
	must(t, err)
	if who.Role != wire.RoleAgent || who.Tenant != "acme" || leaf.IsCA {
		t.Fatalf("%+v", who)
	}
	if _, err := a.Verify(leaf, x509.ExtKeyUsageServerAuth); !errors.Is(err, ca.ErrUntrusted) {
		t.Fatalf("an agent serves: %v", err)
	}
	if got := leaf.NotAfter.Sub(w.clock.Now()); got != ca.DefaultLeafTTL {
		t.Fatalf("it holds for %v", got)
	}
	server := issue(t, a, ca.Request{Role: wire.RoleServer, Name: "server", Hosts: []string{"10.0.0.1", "berth.test"}, TTL: 99999 * time.Hour})
	must(t, server.VerifyHostname("10.0.0.1"))
	must(t, server.VerifyHostname("berth.test"))
	if server.NotAfter.Sub(w.clock.Now()) > ca.DefaultLeafTTL {
		t.Fatal("it outlives what the authority signs for")
	}
	w.clock.Advance(25 * time.Hour)
	if _, err := a.Verify(leaf, x509.ExtKeyUsageClientAuth); !errors.Is(err, ca.ErrUntrusted) {
		t.Fatalf("an ended one: %v", err)
	}
}

func TestWhatMayNotBeCertifiedIsRefused(t *testing.T) {
	w := newWorld(t)
	a, err := ca.Open(t.Context(), w.opts)
	must(t, err)
	for name, change := range map[string]func(*ca.Request){
		"no key":                  func(r *ca.Request) { r.PublicKey = ed25519.PublicKey{1} },
		"no name":                 func(r *ca.Request) { r.Name = "" },
		"a long name":             func(r *ca.Request) { r.Name = strings.Repeat("x", 65) },
		"an agent without tenant": func(r *ca.Request) { r.Tenant = "" },
		"an agent with a host":    func(r *ca.Request) { r.Hosts = []string{"x"} },
		"no role":                 func(r *ca.Request) { r.Role, r.Tenant = "", "" },
		"another role":            func(r *ca.Request) { r.Role, r.Tenant = "root", "" },
	} {
		r := agent()
		r.PublicKey = make(ed25519.PublicKey, ed25519.PublicKeySize)
		change(&r)
		if _, err := a.Issue(r); !errors.Is(err, ca.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANewAuthorityTakesOverByOverlap(t *testing.T) {
	w := newWorld(t)
	a, err := ca.Open(t.Context(), w.opts)
	must(t, err)
	step := func() {
		t.Helper()
		must(t, a.Advance(t.Context()))
	}
	first := issue(t, a, agent())
	must(t, a.Rotate(t.Context()))
	must(t, a.Rotate(t.Context())) // one is on its way
	if n := strings.Count(string(a.CAPEM()), "BEGIN"); n != 2 {
		t.Fatalf("%d authorities are known", n)
	}
	still := issue(t, a, agent())
	if still.AuthorityKeyId != nil && string(still.AuthorityKeyId) != string(first.AuthorityKeyId) {
		t.Fatal("it signs before anybody has heard of it")
	}
	w.clock.Advance(24*time.Hour + 6*time.Minute)
	late := issue(t, a, agent())
	step()
	next := issue(t, a, agent())
	for _, leaf := range []*x509.Certificate{late, next} {
		if _, err := a.Verify(leaf, x509.ExtKeyUsageClientAuth); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Advance(24*time.Hour + 6*time.Minute)
	step()
	if n := strings.Count(string(a.CAPEM()), "BEGIN"); n != 1 {
		t.Fatalf("%d authorities are known at the end", n)
	}
	other, err := ca.Open(t.Context(), w.opts)
	must(t, err)
	if string(other.CAPEM()) != string(a.CAPEM()) {
		t.Fatal("another process knows another authority")
	}
	all, err := w.memory.List(t.Context(), "")
	must(t, err)
	if len(all) != 2 {
		t.Fatalf("%d objects: the old key stays", len(all))
	}
	// By itself at two thirds of its life.
	w.clock.Advance(ca.DefaultTTL * 7 / 10)
	step()
	if n := strings.Count(string(a.CAPEM()), "BEGIN"); n != 2 {
		t.Fatal("it does not begin by itself")
	}
}
