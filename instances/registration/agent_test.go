package registration_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/wire"
)

func TestTheAgentOfAMachineRegistersAndRenewsHere(t *testing.T) {
	p := newPlace(t)
	made := p.create()
	dir := t.TempDir()
	write := func(name string, data []byte) { must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600)) }
	boot, err := json.Marshal(agent.Bootstrap{
		ClusterID: "prod", Shard: "one", InstanceID: made.InstanceID, RegistrationAddr: p.addr, AgentAddr: "127.0.0.1:1",
	})
	must(t, err)
	write("bootstrap.json", boot)
	write("ca.crt", p.authority.CAPEM())
	write("nonce.jwt", []byte(made.RegistrationJWT))
	certificate := func() *x509.Certificate {
		data, err := os.ReadFile(filepath.Join(dir, "identity.crt"))
		if err != nil {
			return nil
		}
		block, _ := pem.Decode(data)
		if block == nil {
			return nil
		}
		leaf, err := x509.ParseCertificate(block.Bytes)
		must(t, err)
		return leaf
	}
	run := func(until func() bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		a, err := agent.New(agent.Config{
			Dir: dir, BootID: "boot", Now: p.clock.Now, EngineSocket: filepath.Join(dir, "none.sock"),
			Facts: func() wire.Facts { return wire.Facts{Hostname: "web-1"} }, Metrics: func() wire.Metrics { return wire.Metrics{} },
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				if address != p.addr {
					return nil, errors.New("there is no hub in this test")
				}
				return new(net.Dialer).DialContext(ctx, network, address)
			},
		})
		must(t, err)
		done := make(chan struct{})
		go func() { defer close(done); _ = a.Run(ctx) }()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for !until() && ctx.Err() == nil {
			<-tick.C
		}
		if ctx.Err() != nil {
			t.Errorf("it did not happen; the log: %s", p.log.String())
		}
		cancel()
		<-done
	}
	run(func() bool { return certificate() != nil })
	first := certificate()
	status, err := p.manager.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateRegistered || status.Hostname != "web-1" || status.PrivateIPv4 != "127.0.0.1" {
		t.Fatalf("status %+v", status)
	}
	p.clock.Advance(17*time.Hour + 30*time.Minute)
	run(func() bool { return certificate().NotAfter.After(first.NotAfter) })
}
