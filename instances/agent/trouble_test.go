package agent_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

// away makes the control connection's end unreachable, and counts who looks for it.
func (r *rig) away() *atomic.Int64 {
	var n atomic.Int64
	r.cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == r.reg.addr {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		n.Add(1)
		return nil, errors.New("nobody is there")
	}
	return &n
}

// A machine whose clock is ahead takes every certificate for one that is over.
func TestAClockThatIsAheadIsSaidAndTheControlPlaneLeftAlone(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	dials := r.away()
	r.cfg.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	r.cfg.Timing.RetrySlow = time.Hour
	stop := r.run()
	r.until("it is said", func() bool { return strings.Contains(r.log.String(), "the clock of this machine is wrong") })
	before := dials.Load()
	r.until("it goes on", func() bool { return dials.Load() > before+10 })
	stop()
	if len(r.reg.keys) != 1 || r.reg.renewed > 0 {
		t.Errorf("%d registrations, %d renewals", len(r.reg.keys), r.reg.renewed)
	}
}

func TestAControlPlaneThatIsAwayIsLoggedOnceAndThenNowAndThen(t *testing.T) {
	r := newRig(t, wiretest.Machine{Token: "token"})
	dials := r.away()
	var ahead atomic.Int64
	r.cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	stop := r.run()
	r.until("it goes on", func() bool { return dials.Load() > 20 })
	if n := strings.Count(r.log.String(), "no connection"); n != 1 {
		t.Errorf("%d lines: %s", n, r.log)
	}
	ahead.Store(int64(11 * time.Minute))
	r.until("a reminder", func() bool { return strings.Contains(r.log.String(), "it still fails") })
	before := dials.Load()
	r.until("it goes on", func() bool { return dials.Load() > before+20 })
	stop()
	if n := strings.Count(r.log.String(), "no connection"); n != 2 {
		t.Errorf("%d lines: %s", n, r.log)
	}
}

// Three heartbeats that are missed are what a machine is replaced after.
func TestAnEndThatGoesAwayAgainAndAgainIsLookedForOnceAHeartbeatAllTheSame(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	h, addr := plane(t, r.ca, wire.RoleServer, hub.Timing{})
	cert := r.ca.Agent(t, machine)
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Agent: addr, Cert: &cert})
	r.cfg.Dir, r.cfg.Timing.RetryMax, r.cfg.Timing.Stable = r.dir, time.Hour, time.Hour
	first := make(chan net.Conn, 1)
	var dials atomic.Int64
	r.cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return nil, errors.New("nobody is there")
		}
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			first <- c
		}
		return c, err
	}
	r.run()
	r.until("a connection", func() bool { return h.Online(machine) })
	_ = (<-first).Close()
	r.until("it is looked for", func() bool { return dials.Load() > 25 })
}

// Whoever puts a token there starts the agent anew, as a rule.
func TestANewTokenIsKeptWhenTheAgentStartsWithACertificateThatIsOver(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	over := r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme"}, Age: time.Hour, Life: -time.Minute})
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Registration: r.reg.addr, Agent: "127.0.0.1:1", Cert: &over, Token: "token"})
	r.cfg.Dir = r.dir
	stop := r.run()
	r.until("a registration", func() bool { return !r.has("nonce.jwt") })
	stop()
	if len(r.reg.keys) != 1 || !r.reg.proven {
		t.Errorf("%d registrations: %s", len(r.reg.keys), r.log)
	}
}

func TestSecretsThatOthersCanReadAreClosedToThem(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	own := r.ca.Agent(t, machine)
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Registration: r.reg.addr, Agent: "127.0.0.1:1", Cert: &own})
	r.cfg.Dir = r.dir
	key := filepath.Join(r.dir, "identity.key")
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	stop := r.run()
	r.until("it is said", func() bool { return strings.Contains(r.log.String(), "identity.key") })
	stop()
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestAFailureSaysWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(r *rig)
		says string
	}{
		"the authority of another cluster": {func(r *rig) { r.put("ca.crt", string(wiretest.NewCA(t).PEM())) }, "compare ca.crt"},
		"a clock that is far off": {func(r *rig) {
			r.cfg.Now = func() time.Time { return time.Now().Add(-25 * time.Hour) }
		}, "compare the clocks"},
		"no token": {func(r *rig) {
			if err := os.Remove(filepath.Join(r.dir, "nonce.jwt")); err != nil {
				t.Fatal(err)
			}
		}, "put a new token into nonce.jwt"},
		"an address that is not the server's": {func(r *rig) {
			_, port, _ := net.SplitHostPort(r.reg.addr)
			r.put("bootstrap.json", strings.ReplaceAll(r.file("bootstrap.json"), r.reg.addr, "127.0.0.2:"+port))
			r.cfg.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, r.reg.addr)
			}
		}, "name the address that bootstrap.json has"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, wiretest.Machine{Token: "token"})
			tc.set(r)
			stop := r.run()
			r.until("it is said", func() bool { return strings.Contains(r.log.String(), tc.says) })
			stop()
			if n := strings.Count(r.log.String(), "registration failed"); n != 1 {
				t.Errorf("%d lines: %s", n, r.log)
			}
		})
	}
}

func TestAFolderWithoutItsFilesSaysWhichOneIsMissingAndWhere(t *testing.T) {
	for _, name := range []string{"bootstrap.json", "ca.crt"} {
		r := newRig(t, wiretest.Machine{Token: "token"})
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context()); err == nil || !strings.Contains(err.Error(), name+" is missing in "+r.dir) {
			t.Errorf("%v", err)
		}
	}
}
