package agent

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

func TestACertificateIsRenewedInTimeByAClockThatIsWrong(t *testing.T) {
	real := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	leaf := &x509.Certificate{NotBefore: real.Add(-5 * time.Minute), NotAfter: real.Add(24 * time.Hour)}
	for _, skew := range []time.Duration{0, time.Minute, 10 * time.Minute, -10 * time.Minute, -25 * time.Hour, -365 * 24 * time.Hour} {
		a := &Agent{id: &identity{got: real.Add(skew)}, spread: 1}
		// What its clock says then, in the time of everybody else.
		at := a.renewAt(leaf).Add(-skew)
		if at.Before(real) || !at.Before(leaf.NotAfter.Add(-time.Hour)) {
			t.Errorf("%v: it is renewed at %v, it ends at %v", skew, at, leaf.NotAfter)
		}
	}
}

func TestEveryRefusalThatStaysSaysWhatToDo(t *testing.T) {
	for _, code := range []string{
		wire.CodeTokenInvalid, wire.CodeTokenExpired, wire.CodeTokenNotYetValid, wire.CodeTokenCluster, wire.CodeTokenShard,
		wire.CodeTokenUsed, wire.CodeProofInvalid, wire.CodeInstanceUnknown, wire.CodeInstanceDeleted, wire.CodeNotLeader,
		wire.CodeRateLimited, wire.CodeInternal, wire.CodeIdentityCloned, wire.CodeIdentityMismatch, wire.CodeBusy,
	} {
		if wire.Final(code) && remedy(&refusal{code: code}) == "" {
			t.Errorf("%s: a person has to see to it, and is not told how", code)
		}
	}
}
