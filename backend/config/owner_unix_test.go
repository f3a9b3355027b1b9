//go:build unix

package config

import "testing"

func TestAFileOfAnotherUserIsNotTrusted(t *testing.T) {
	for name, c := range map[string]struct {
		owner, us int
		fine      bool
	}{
		"one's own":          {1000, 1000, true},
		"root's":             {0, 1000, true},
		"root's own":         {0, 0, true},
		"another's":          {1001, 1000, false},
		"another's for root": {1000, 0, false},
	} {
		if says := ownedBy(c.owner, c.us); (says == "") != c.fine {
			t.Errorf("%s: %q", name, says)
		}
	}
}
