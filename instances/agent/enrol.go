package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// longest is the longest sleep of a loop that goes by the clock: one that was put right
// meanwhile is noticed.
const longest = 10 * time.Minute

// keepIdentity registers when there is no certificate, and renews it at two thirds of its
// life, until ctx is done.
func (a *Agent) keepIdentity(ctx context.Context) {
	b := a.newBackoff()
	said := a.newComplaints()
	var early time.Time // before which it is not renewed, whatever it says of its begin
	var calm time.Time  // before which it is not renewed because an end doubts it
	doubted := false
	for ctx.Err() == nil {
		cert, _ := a.id.now()
		if cert != nil {
			// The one goes by the clock, the other does not notice when it is put right.
			now := a.cfg.Now()
			wait := max(early.Sub(now), a.renewAt(cert.Leaf).Sub(now))
			if wait > 0 && !(doubted && now.After(calm)) {
				doubted = a.doubtedWithin(ctx, min(wait, longest))
				continue
			}
			doubted = false
		}
		what, err := a.enrol(ctx, cert)
		if err == nil {
			b.reset()
			said.over()
			early = a.received(what)
			calm = a.cfg.Now().Add(a.cfg.Timing.RetrySlow)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		said.say(a.cfg.Log.With("what", what+" failed"), err)
		sleep(ctx, b.pause(final(err)), nil)
	}
}

// doubtedWithin waits until an end does not take the certificate, and is false when none
// did in time: one of the clocks is wrong, or this machine stood still for long.
func (a *Agent) doubtedWithin(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-a.doubts:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// doubt is called when an end did not greet this machine's certificate.
func (a *Agent) doubt(err error) {
	if !alerted(err) {
		return
	}
	select {
	case a.doubts <- struct{}{}:
	default:
	}
}

// received tells of a new certificate, and before when it is not renewed: one that is short
// and was made out as if it had begun long ago would be renewed at once, and again, as
// would one that is over already by the clock of this machine.
func (a *Agent) received(by string) (early time.Time) {
	cert, _ := a.id.now()
	now, until := a.cfg.Now(), cert.Leaf.NotAfter
	a.cfg.Log.Info("the machine has a certificate", "by", by, "instance", a.boot.InstanceID, "until", until)
	if left := until.Sub(now); left > 0 {
		return now.Add(max(left/3, a.cfg.Timing.RetryMin))
	}
	a.cfg.Log.Error("the clock of this machine is wrong: it says that the certificate which it just got is over; set the clock", "clock", now, "until", until)
	return now.Add(a.cfg.Timing.RetrySlow)
}

// renewAt is two thirds into a certificate's life, and a little more by chance. A machine
// whose clock is behind goes by when it got the certificate: else it would be over for
// everybody else before its time comes.
func (a *Agent) renewAt(leaf *x509.Certificate) time.Time {
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	part := life*2/3 + time.Duration(a.spread*float64(life/20))
	if since := a.id.since(); since.Before(leaf.NotBefore) {
		return since.Add(part)
	}
	return leaf.NotBefore.Add(part)
}

// enrol gets a certificate: by the one there is, or else by the token.
func (a *Agent) enrol(ctx context.Context, cert *tls.Certificate) (what string, err error) {
	var answer *wire.Registration
	token, tokenErr := a.id.folder.read(fileToken)
	switch {
	case cert != nil && (tokenErr != nil || a.cfg.Now().Before(cert.Leaf.NotAfter)):
		what = "renewal"
		answer, err = a.renew(ctx)
	case errors.Is(tokenErr, fs.ErrNotExist):
		return "registration", &refusal{code: wire.CodeTokenInvalid, text: "there is neither a certificate nor a token in the folder"}
	case tokenErr != nil:
		return "registration", tokenErr
	default:
		what = "registration"
		answer, err = a.register(ctx, strings.TrimSpace(string(token)))
	}
	if err != nil {
		return what, err
	}
	return what, a.id.take(answer, a.cfg.Now())
}

func (a *Agent) register(ctx context.Context, token string) (*wire.Registration, error) {
	der, err := x509.MarshalPKIXPublicKey(a.id.key.Public())
	if err != nil {
		return nil, fmt.Errorf("write the public key: %w", err)
	}
	peer := a.id.peer(wire.RoleServer, a.cfg.Now)
	peer.Certificate = nil // it has none yet, or one that is over
	return a.post(ctx, wire.RegisterPath, peer, func(conn *tls.Conn) (any, error) {
		proof, err := wire.Prove(a.id.key, token, conn.ConnectionState())
		if err != nil {
			return nil, err
		}
		facts := a.cfg.Facts()
		r := wire.RegisterRequest{
			Token: token, Proof: proof, Hostname: facts.Hostname,
			PublicKeyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		}
		r.PrivateIPv4, r.PrivateIPv6 = ownAddress(conn.LocalAddr())
		return r, nil
	})
}

func (a *Agent) renew(ctx context.Context) (*wire.Registration, error) {
	return a.post(ctx, wire.RenewPath, a.id.peer(wire.RoleServer, a.cfg.Now), func(*tls.Conn) (any, error) { return struct{}{}, nil })
}

// ownAddress is the one by which the machine reaches its control plane.
func ownAddress(local net.Addr) (v4, v6 string) {
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return "", ""
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String(), ""
	}
	return "", ip.String()
}
