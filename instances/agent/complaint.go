package agent

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// reminder is how often a failure that goes on is logged again.
const reminder = 10 * time.Minute

// complaints are what one loop has to say of its failures: each once, and while it goes on
// now and then; a control plane may be away for days.
type complaints struct {
	now  func() time.Time
	kind string // of the last failure; "" is none
	at   time.Time
}

func (a *Agent) newComplaints() *complaints { return &complaints{now: a.cfg.Now} }

// over is called when it went well.
func (c *complaints) over() { c.kind = "" }

// say logs a failure with what is to be done about it.
func (c *complaints) say(log *slog.Logger, err error) {
	kind, now := kindOf(err), c.now()
	since := now.Sub(c.at)
	stays, same := final(err), kind == c.kind
	if same && (stays || since >= 0 && since < reminder) {
		log.Debug("it is still so", "error", err)
		return
	}
	c.kind, c.at = kind, now
	args := []any{"error", err}
	if todo := remedy(err); todo != "" {
		args = append(args, "todo", todo)
	}
	switch {
	case stays:
		log.Error("a person has to see to it; it is tried again every few minutes", args...)
	case same:
		log.Warn("it still fails; it is tried again and again", args...)
	default:
		log.Warn("it is tried again soon", args...)
	}
}

// kindOf is the same for two failures that differ in ports and moments alone.
func kindOf(err error) string {
	var r *refusal
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &r):
		return r.code
	case errors.As(err, &invalid):
		return fmt.Sprintf("certificate %d", invalid.Reason)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// remedy is what a person can do about a failure; "" is nothing but to wait.
func remedy(err error) string {
	var (
		r       *refusal
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		foreign x509.UnknownAuthorityError
	)
	switch {
	case errors.As(err, &r):
		return remedies[r.code]
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "compare the clocks of this machine and of the control plane, and set the one that is wrong"
	case errors.As(err, &foreign):
		return "compare " + fileCA + " with the authority of the cluster: this machine is of another cluster, or what answers is not its control plane"
	case errors.As(err, &host):
		return "have the control plane's configuration name the address that " + fileBootstrap + " has"
	case alerted(err):
		return "the other end does not take this machine's certificate: compare the clocks; it is renewed by itself, or else the machine has to be replaced"
	}
	return ""
}

// alerted reports whether the other end broke off the handshake.
func alerted(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && e.Op == "remote error" // so the package crypto/tls names it
}

const (
	newToken = "put a new token into " + fileToken + ", or replace this machine"
	notKnown = "the cluster has no such machine: it can be switched off"
)

var remedies = map[string]string{
	wire.CodeTokenInvalid:     newToken,
	wire.CodeTokenExpired:     newToken,
	wire.CodeTokenCluster:     newToken,
	wire.CodeTokenShard:       newToken,
	wire.CodeTokenUsed:        "another machine registered with this token, or this one lost its key: replace it, and find out who has the token",
	wire.CodeTokenNotYetValid: "set the clock of the control plane",
	wire.CodeProofInvalid:     "the cluster does not know this machine by what is in its folder: replace it",
	wire.CodeInstanceUnknown:  notKnown,
	wire.CodeInstanceDeleted:  notKnown,
	wire.CodeIdentityCloned:   "switch off the copy, and have both machines replaced if you do not know which one that is",
	wire.CodeIdentityMismatch: fileBootstrap + " and " + fileCert + " are of two machines: replace this one",
}
