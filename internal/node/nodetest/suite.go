package nodetest

import (
	"testing"

	"github.com/berth-cloud/berth/internal/node"
)

// Run holds an implementation to every case. open is called for each with an open file of
// the network namespace that is the host's.
func Run(t *testing.T, open func(t *testing.T, netns int) node.Host) {
	Need(t)
	for _, c := range []struct {
		name string
		run  func(*bench)
	}{
		{"ALeaseReachesWhatItMayAndNothingElse", reaches},
		{"RulesThatStandAreLeftAlone", leftAlone},
		{"WhatWasChangedIsNamedAndPutRight", putRight},
		{"AFalseSourceIsDropped", falseSource},
		{"WhatIsAllowedOpensNoLease", allowedIsNoLease},
		{"AConnectionThatOutlivedTheRulesIsCut", outlived},
		{"OtherRulesTakeThePlaceOfTheOldOnes", otherRules},
		{"NoPacketPassesWhileRulesAreReplaced", noWindow},
		{"TablesOfOthersAreNotTouched", notTouched},
		{"RulesThatAreTakenAwayAreGone", takenAway},
		{"WhatStandsIsToldWithItsPools", standing},
		{"WhatAreNoRulesIsRefused", noRules},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			c.run(&bench{T: t, lab: l, host: open(t, l.host.FD()), rules: Rules()})
		})
	}
}

// bench is one case.
type bench struct {
	*testing.T
	lab   *lab
	host  node.Host
	rules node.Rules
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) firewall() {
	b.Helper()
	b.ok(b.host.Firewall(b.Context(), b.rules))
	b.ok(b.host.CheckFirewall(b.Context(), b.rules))
}
