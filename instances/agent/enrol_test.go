package agent_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestATokenIsTradedForACertificateAndThenForgotten(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	stop := r.run()
	r.until("a certificate without the token", func() bool { return r.has("identity.crt") && !r.has("nonce.jwt") })
	stop()
	if !r.reg.proven {
		t.Error("the key was not proven, or the address not told")
	}
	for _, name := range []string{"identity.key", "identity.crt", "lock"} {
		if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	// It starts again, and has no need to ask.
	stop = r.run()
	r.until("the control plane is looked for", func() bool { return strings.Contains(r.log.String(), "no connection") })
	stop()
	if len(r.reg.keys) != 1 {
		t.Errorf("%d registrations", len(r.reg.keys))
	}
}

func TestAnAnswerThatIsLostIsAskedForAgainByTheSameKey(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	r.reg.answer = func(http.ResponseWriter) bool {
		if len(r.reg.keys) < 3 {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	// Killed while it asks, and started again.
	stop := r.run()
	r.until("a request", func() bool {
		var n int
		r.reg.set(func() { n = len(r.reg.keys) })
		return n > 0
	})
	stop()
	key := r.file("identity.key")
	stop = r.run()
	r.until("a certificate", func() bool { return r.has("identity.crt") })
	stop()
	for _, k := range r.reg.keys[1:] {
		if !k.Equal(r.reg.keys[0]) {
			t.Error("another key was made")
		}
	}
	if r.file("identity.key") != key {
		t.Error("the key on disk is another one")
	}
}

func TestARefusalThatStaysIsLoggedOnce(t *testing.T) {
	for _, code := range []string{wire.CodeTokenUsed, wire.CodeTokenInvalid, wire.CodeInstanceDeleted} {
		r := newRig(t, wiretest.Machine{Token: "token"})
		r.reg.answer = func(w http.ResponseWriter) bool {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(wire.Problem{Code: code, Error: "held by\nsomebody else"})
			return true
		}
		stop := r.run()
		r.until("it asks on", func() bool {
			var n int
			r.reg.set(func() { n = len(r.reg.keys) })
			return n > 3
		})
		stop()
		if n := strings.Count(r.log.String(), code); n != 1 || strings.Count(r.log.String(), "level=ERROR") != 1 {
			t.Errorf("%s is logged %d times: %s", code, n, r.log)
		}
		if !r.has("nonce.jwt") {
			t.Error("the token is gone")
		}
	}
}

func TestARefusalThatPassesIsAskedAgainSoon(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	r.cfg.Timing.RetrySlow = time.Hour
	codes := []string{wire.CodeNotLeader, wire.CodeRateLimited, wire.CodeInternal, wire.CodeTokenNotYetValid}
	r.reg.answer = func(w http.ResponseWriter) bool {
		if len(codes) == 0 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(wire.Problem{Code: codes[0]})
		codes = codes[1:]
		return true
	}
	r.run()
	r.until("a certificate", func() bool { return r.has("identity.crt") })
}

func TestAnAnswerThatIsNotForThisMachineIsNotTaken(t *testing.T) {
	foreign := wiretest.NewCA(t)
	leaf := func(r *rig, change func(*wiretest.Leaf)) func(ed25519.PublicKey) tls.Certificate {
		return func(key ed25519.PublicKey) tls.Certificate {
			l := wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme"}, Public: key}
			change(&l)
			return r.ca.Issue(t, l)
		}
	}
	for name, set := range map[string]func(r *rig){
		"of another instance": func(r *rig) { r.reg.issue = leaf(r, func(l *wiretest.Leaf) { l.Name = "other" }) },
		"of another role":     func(r *rig) { r.reg.issue = leaf(r, func(l *wiretest.Leaf) { l.Role = wire.RoleOperator }) },
		"for another key":     func(r *rig) { r.reg.issue = leaf(r, func(l *wiretest.Leaf) { l.Public = nil }) },
		"by another authority": func(r *rig) {
			r.reg.issue = func(k ed25519.PublicKey) tls.Certificate { return wiretestIssue(t, foreign, k, time.Hour) }
		},
		"a redirect": func(r *rig) {
			r.reg.answer = func(w http.ResponseWriter) bool {
				w.Header().Set("Location", "https://"+r.reg.addr+"/v1/renew")
				w.WriteHeader(http.StatusTemporaryRedirect)
				return true
			}
		},
		"too long": func(r *rig) {
			r.reg.answer = func(w http.ResponseWriter) bool {
				_, _ = io.WriteString(w, strings.Repeat(" ", wire.MaxBody)+"{}")
				return true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, wiretest.Machine{Token: "token"})
			set(r)
			ca := r.file("ca.crt")
			stop := r.run()
			r.until("a complaint", func() bool { return strings.Contains(r.log.String(), "registration failed") })
			stop()
			if r.has("identity.crt") || !r.has("nonce.jwt") || r.file("ca.crt") != ca || r.reg.renewed > 0 {
				t.Errorf("it was taken: %s", r.log)
			}
		})
	}
}

func TestTheTokenIsShownToTheServerOfItsClusterAlone(t *testing.T) {
	for name, pick := range map[string]func(r *rig) *registrar{
		"another cluster": func(*rig) *registrar { return newRegistrar(t, wiretest.NewCA(t), wire.RoleServer) },
		"the data plane":  func(r *rig) *registrar { return newRegistrar(t, r.ca, wire.RoleIngress) },
	} {
		r := newRig(t, wiretest.Machine{Token: "token"})
		wrong := pick(r)
		r.put("bootstrap.json", strings.ReplaceAll(r.file("bootstrap.json"), r.reg.addr, wrong.addr))
		stop := r.run()
		r.until("a complaint", func() bool { return strings.Contains(r.log.String(), "registration failed") })
		stop()
		if len(wrong.keys) > 0 {
			t.Errorf("%s was shown the token", name)
		}
	}
}

func TestACertificateIsRenewedAtTwoThirdsOfItsLifeByTheSameKey(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	// A test's certificates begin a minute ago, so that two thirds are over at once, and
	// nothing but a third of what is left is waited for.
	r.reg.life = 3 * time.Second
	r.cfg.Jitter = func() float64 { return 0 }
	r.run()
	r.until("a certificate", func() bool { return r.has("identity.crt") })
	first := r.file("identity.crt")
	r.reg.set(func() { r.reg.life = time.Hour })
	r.until("another one", func() bool { return r.file("identity.crt") != first })
	r.reg.set(func() {
		if r.reg.renewed != 1 || len(r.reg.keys) != 1 {
			t.Errorf("%d renewals, %d registrations", r.reg.renewed, len(r.reg.keys))
		}
	})
}

func TestAMachineWhoseCertificateIsOverTakesANewToken(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	over := r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme"}, Age: time.Hour, Life: -time.Minute})
	dir := wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Registration: r.reg.addr, Agent: "127.0.0.1:1", Cert: &over})
	r.dir, r.cfg.Dir = dir, dir
	r.reg.answer = func(w http.ResponseWriter) bool {
		if r.reg.renewed == 0 {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(wire.Problem{Code: wire.CodeProofInvalid, Error: "over"})
		r.reg.renewed = 0
		return true
	}
	stop := r.run()
	r.until("a complaint", func() bool { return strings.Contains(r.log.String(), "renewal failed") })
	r.put("nonce.jwt", "token")
	r.until("a registration", func() bool { return !r.has("nonce.jwt") })
	stop()
	if !strings.Contains(r.log.String(), "registration") || !r.reg.proven {
		t.Errorf("%s", r.log)
	}
}

func TestAFolderThatIsOfNoUseEndsTheAgentWithTheNameOfTheFile(t *testing.T) {
	for name, tc := range map[string]struct {
		file, text, says string
	}{
		"an unknown key":     {"bootstrap.json", `{"cluster_id":"c","shardd":"a"}`, "shardd"},
		"no instance":        {"bootstrap.json", `{"cluster_id":"c","shard":"a"}`, "instance_id"},
		"an address":         {"bootstrap.json", `{"cluster_id":"c","shard":"a","instance_id":"i","registration_addr":"here","agent_addr":"a:1"}`, "registration_addr"},
		"one cut in half":    {"bootstrap.json", `{"cluster_id":"c",`, "ends before"},
		"a number":           {"bootstrap.json", `{"cluster_id":"c","shard":7}`, "shard is a number, and has to be a string"},
		"a list":             {"bootstrap.json", `[]`, "a JSON array, and has to be an object"},
		"two objects":        {"bootstrap.json", `{"cluster_id":"c","shard":"a","instance_id":"i","registration_addr":"h:1","agent_addr":"a:1"}{}`, "follows"},
		"no authority":       {"ca.crt", "nothing", "ca.crt"},
		"a key that is none": {"identity.key", "", "identity.key"},
		"a half-written key": {"identity.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "identity.key"},
		"a certificate":      {"identity.crt", "x", "identity.crt"},
	} {
		r := newRig(t, wiretest.Machine{Token: "token"})
		r.put(tc.file, tc.text)
		a, err := agent.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if r.file(tc.file) != tc.text {
			t.Errorf("%s: %s was written over", name, tc.file)
		}
	}
}

func TestTwoAgentsCannotHaveOneFolder(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	r.run()
	r.until("a certificate", func() bool { return r.has("identity.crt") })
	second, err := agent.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(t.Context()); !errors.Is(err, agent.ErrLocked) {
		t.Errorf("%v", err)
	}
}

// What a process that was killed left is no obstacle.
func TestAHalfWrittenFileIsWrittenAnew(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	r.put("identity.key.new", "half")
	r.put("identity.crt.new", "half")
	r.run()
	r.until("a certificate without the token", func() bool { return r.has("identity.crt") && !r.has("nonce.jwt") })
}
