package cli

import (
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/wire"
)

func TestCallbacksThatWaitAreToldInWords(t *testing.T) {
	now := time.Date(2026, time.March, 4, 10, 0, 0, 0, time.UTC)
	a := &app{env: Env{Now: func() time.Time { return now }}}
	began := now.Add(-3 * time.Minute)
	for want, c := range map[string]wire.BackendCallbacks{
		"none; none waits":                      {},
		"to http://a:1; none waits":             {Target: "http://a:1"},
		"none; 2 given up; none waits":          {GivenUp: 2},
		"none; 1 to be sent":                    {Pending: 1},
		"none; 1 waits since 3m, not tried yet": {Pending: 1, CreatedAt: began},
		"none; 1 waits since 0s, tried once (no answer), next try in 2s": {
			Pending: 1, CreatedAt: now, Attempts: 1, LastError: "no answer", NextTry: now.Add(2 * time.Second),
		},
		"none; 4 wait in turn, the first since 3m, tried 7 times (answered with 500), next try in 4m": {
			Pending: 4, CreatedAt: began, Attempts: 7, LastError: "answered with 500", NextTry: now.Add(4*time.Minute + 10*time.Second),
		},
		"none; 1 waits since 3m, tried once, next try now": {Pending: 1, CreatedAt: began, Attempts: 1},
	} {
		if got := a.callbacksOf(c); got != want {
			t.Errorf("it says %q; want %q", got, want)
		}
	}
}
