package node_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/node/nodetest"
)

// Others change their own tables all the time, as an engine does for each container;
// two processes look after one table, and somebody flushes everything. Nobody is told
// that the firewall is broken who looks at it then, and it stands in the end.
func TestAFirewallInAStormOfChangesIsPutRight(t *testing.T) {
	s := nodetest.NewSpace(t, "bnt"+strings.ToLower(rand.Text()[:6]))
	rules := nodetest.Rules()
	storm := func(end <-chan struct{}, flush bool) error {
		c, err := nftables.New(nftables.WithNetNSFd(s.FD()))
		if err != nil {
			return err
		}
		for i := 0; ; i++ {
			select {
			case <-end:
				return nil
			default:
			}
			if flush && i%20 == 0 {
				c.FlushRuleset()
			}
			other := c.AddTable(&nftables.Table{Family: nftables.TableFamilyIPv4, Name: "other"})
			c.AddChain(&nftables.Chain{Name: "c", Table: other})
			c.DelTable(other)
			if err := c.Flush(); err != nil {
				return err
			}
		}
	}
	for what, flush := range map[string]bool{"of others' tables": false, "with all flushed": true} {
		t.Run(what, func(t *testing.T) {
			end := make(chan struct{})
			var storms, hosts sync.WaitGroup
			storms.Go(func() {
				if err := storm(end, flush); err != nil {
					t.Error(err)
				}
			})
			for range 2 { // the daemon, and one that sets the firewall up before it
				host := &node.Local{NetNS: s.FD()}
				if err := host.Firewall(t.Context(), rules); err != nil && !(flush && errors.Is(err, node.ErrDiffers)) {
					t.Error(err)
				}
				for range 3 {
					hosts.Go(func() {
						for began, n := time.Now(), 0; time.Since(began) < 700*time.Millisecond; n++ {
							err := host.CheckFirewall(t.Context(), rules)
							if errors.Is(err, node.ErrDiffers) && flush { // else nobody has touched it
								err = host.Firewall(t.Context(), rules)
							}
							if err != nil && !(flush && errors.Is(err, node.ErrDiffers)) {
								t.Errorf("look %d: %v", n, err)
								return
							}
						}
					})
				}
			}
			hosts.Wait()
			close(end)
			storms.Wait()
			host := &node.Local{NetNS: s.FD()}
			if err := host.Firewall(t.Context(), rules); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}
