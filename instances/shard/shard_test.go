package shard_test

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAMachineThatIsDeletedIsCutOffAtOnce(t *testing.T) {
	w := newWorld(t)
	s, _ := w.serve(nil)
	id := w.machine(s)
	// The machine itself goes on: its provider does not obey.
	w.cloud.Script(fake.Fault{Method: "DeleteInstance", Do: fake.Fail})
	if err := s.Manager.DeleteInstanceFor(t.Context(), "acme", id); err == nil {
		t.Error("the provider's failure is not told")
	}
	w.until("it is cut off", func() bool { return !s.Hub.Online(id) })
	w.until("its agent is told", func() bool { return strings.Contains(w.log.String(), "it can be switched off") })
}

// The certificates that another server denies count here soon.
func TestWhatAnotherServerDeniesIsCutOff(t *testing.T) {
	w := newWorld(t)
	s, _ := w.serve(nil)
	id := w.machine(s)
	here := w.registrations
	w.registrations, w.agents = "127.0.0.1:0", "127.0.0.1:0"
	other, _ := w.serve(func(o *shard.Options) { o.CacheDir = t.TempDir() })
	w.registrations = here
	mustBe(t, other.Manager.DeleteInstanceFor(t.Context(), "acme", id))
	w.until("it is cut off", func() bool { return !s.Hub.Online(id) })
}

func TestMachinesComeBackWhenTheControlPlaneWasAwayForLongerThanTheirCertificatesLive(t *testing.T) {
	for name, tc := range map[string]struct {
		away time.Duration
		back bool
	}{"for days": {5 * 24 * time.Hour, true}, "for weeks": {5 * 7 * 24 * time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s, stop := w.serve(nil)
			id := w.machine(s)
			stop()
			w.pass(tc.away)
			s, _ = w.serve(nil)
			if tc.back {
				w.until("it is back", func() bool { return s.Hub.Online(id) })
				return
			}
			w.until("it is said what to do", func() bool { return strings.Contains(w.log.String(), "ended too long ago") })
			if s.Hub.Online(id) {
				t.Error("it is back")
			}
		})
	}
}

// An end is no way back for those that were deleted meanwhile.
func TestACertificateThatEndedIsNotRenewedForAMachineThatIsToGo(t *testing.T) {
	w := newWorld(t)
	s, stop := w.serve(nil)
	id := w.machine(s)
	w.cloud.Script(fake.Fault{Method: "DeleteInstance", Do: fake.Fail})
	_ = s.Manager.DeleteInstanceFor(t.Context(), "acme", id)
	stop()
	w.pass(2 * 24 * time.Hour)
	s, _ = w.serve(nil)
	// It forgets denials of what has ended.
	if _, err := s.Manager.Collect(t.Context()); err != nil {
		t.Error(err)
	}
	w.until("it is refused", func() bool { return strings.Contains(w.log.String(), "renewal failed") })
	if s.Hub.Online(id) {
		t.Error("it is back")
	}
}

func TestAnotherAuthorityTakesOverUnderMachines(t *testing.T) {
	w := newWorld(t)
	s, _ := w.serve(nil)
	before := string(s.Authority.CAPEM())
	id, dir, stop := w.boot(s)
	serial := func() string {
		n, _ := s.Hub.Node(id)
		return n.Serial
	}
	mustBe(t, s.Authority.Rotate(t.Context()))
	for range 4 {
		// Its time has come, which it finds out when it starts.
		was := serial()
		stop()
		w.pass(18 * time.Hour)
		stop = w.run(dir)
		w.until("it is connected by another certificate", func() bool { return serial() != "" && serial() != was })
	}
	w.until("the old authority goes", func() bool { return !strings.Contains(string(s.Authority.CAPEM()), before) })
}
