package node_test

import (
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/node/nodetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheLocalHostConforms(t *testing.T) {
	nodetest.Run(t, func(_ *testing.T, netns int) node.Host { return &node.Local{NetNS: netns} })
}

func TestAProcessThatMayNotIsToldWhatItNeeds(t *testing.T) {
	s := nodetest.NewSpace(t, "bnt"+strings.ToLower(rand.Text()[:6]))
	var err error
	fault := s.Do(func() {
		// Of this thread alone, which ends with the call.
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err = unix.Capset(&header, &none[0]); err == nil {
			err = (&node.Local{}).Firewall(t.Context(), nodetest.Rules())
		}
	})
	if fault != nil {
		t.Fatal(fault)
	}
	if !errors.Is(err, node.ErrUnable) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
		t.Errorf("%v", err)
	}
	runtime.KeepAlive(s)
}

// BenchmarkCheck is what every pass costs: with nothing changed, and with a change of
// somebody else's tables before each.
func BenchmarkCheck(b *testing.B) {
	s := nodetest.NewSpace(b, "bnt"+strings.ToLower(rand.Text()[:6]))
	l, rules := &node.Local{NetNS: s.FD()}, nodetest.Rules()
	if err := l.Firewall(b.Context(), rules); err != nil {
		b.Fatal(err)
	}
	b.Run("nothing changed", func(b *testing.B) {
		for b.Loop() {
			if err := l.CheckFirewall(b.Context(), rules); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all is read", func(b *testing.B) {
		for b.Loop() {
			if err := (&node.Local{NetNS: s.FD()}).CheckFirewall(b.Context(), rules); err != nil {
				b.Fatal(err)
			}
		}
	})
}
