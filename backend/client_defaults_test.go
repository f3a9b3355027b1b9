package backend

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// defaults are what a client goes by of a configuration.
func defaults(cfg HTTPClientConfig) map[string]int64 {
	cfg.BaseURL = "http://backend"
	c := NewHTTPClient(cfg)
	transport := c.http.Transport.(*http.Transport)
	return map[string]int64{
		"Timeout": int64(c.cfg.Timeout), "MaxIdleConns": int64(transport.MaxIdleConns), "MaxIdleConnsPerHost": int64(transport.MaxIdleConnsPerHost),
		"IdleConnTimeout": int64(transport.IdleConnTimeout), "CBMaxRequests": int64(c.cfg.CBMaxRequests), "CBInterval": int64(c.cfg.CBInterval),
		"CBTimeout": int64(c.cfg.CBTimeout), "CBFailureThresh": int64(c.cfg.CBFailureThresh), "MaxInfoBytes": c.cfg.MaxInfoBytes,
		"MaxProvisionBytes": c.cfg.MaxProvisionBytes, "MaxProvisionsBytes": c.cfg.MaxProvisionsBytes, "MaxLookupProvisionsBytes": c.cfg.MaxLookupProvisionsBytes,
		"MaxLogsBytes": c.cfg.MaxLogsBytes, "MaxReleasesBytes": c.cfg.MaxReleasesBytes, "MaxStatsBytes": c.cfg.MaxStatsBytes,
		"MaxRetentionsBytes": c.cfg.MaxRetentionsBytes, "ProvisionsPageLimit": int64(c.cfg.ProvisionsPageLimit),
	}
}

func TestWhatIsLeftOutHasItsDefault(t *testing.T) {
	want := map[string]int64{
		"Timeout": int64(30 * time.Second), "MaxIdleConns": 100, "MaxIdleConnsPerHost": 10, "IdleConnTimeout": int64(90 * time.Second),
		"CBMaxRequests": 1, "CBInterval": 0, "CBTimeout": int64(time.Minute), "CBFailureThresh": 5,
		"MaxInfoBytes": 1 << 20, "MaxProvisionBytes": 1 << 20, "MaxProvisionsBytes": 8 << 20, "MaxLookupProvisionsBytes": 8 << 20,
		"MaxLogsBytes": 16 << 20, "MaxReleasesBytes": 8 << 20, "MaxStatsBytes": 1 << 20, "MaxRetentionsBytes": 1 << 20, "ProvisionsPageLimit": 1000,
	}
	below := HTTPClientConfig{
		Timeout: -1, MaxIdleConns: -1, MaxIdleConnsPerHost: -1, CBTimeout: -1, MaxInfoBytes: -1, MaxProvisionBytes: -1, MaxProvisionsBytes: -1,
		MaxLookupProvisionsBytes: -1, MaxLogsBytes: -1, MaxReleasesBytes: -1, MaxStatsBytes: -1, MaxRetentionsBytes: -1, ProvisionsPageLimit: -1,
	}
	for name, cfg := range map[string]HTTPClientConfig{"nothing said": {}, "less than nothing": below} {
		for field, got := range defaults(cfg) {
			if got != want[field] {
				t.Errorf("%s: %s is %d; want %d", name, field, got, want[field])
			}
		}
	}
	said := HTTPClientConfig{
		Timeout: 1, MaxIdleConns: 2, MaxIdleConnsPerHost: 3, CBMaxRequests: 4, CBInterval: 5, CBTimeout: 6, CBFailureThresh: 7, MaxInfoBytes: 8, MaxProvisionBytes: 9,
		MaxProvisionsBytes: 10, MaxLookupProvisionsBytes: 11, MaxLogsBytes: 12, MaxReleasesBytes: 13, MaxStatsBytes: 14, MaxRetentionsBytes: 15, ProvisionsPageLimit: 16,
	}
	seen := map[int64]bool{}
	for _, got := range defaults(said) {
		seen[got] = true
	}
	for i := range int64(16) {
		if !seen[i+1] {
			t.Errorf("what was said as %d does not count", i+1)
		}
	}
}

// Without an interval a closed breaker forgets no failure, and with one it does.
func TestTheBreakerForgetsFailuresAfterItsInterval(t *testing.T) {
	for name, c := range map[string]struct {
		interval time.Duration
		opens    bool
	}{"none": {0, true}, "an hour": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, w := wired(HTTPClientConfig{CBInterval: c.interval})
				*w = refusing
				for range 4 {
					_ = getInfo(t.Context(), client)
				}
				<-time.After(24 * time.Hour)
				_ = getInfo(t.Context(), client)
				if err := getInfo(t.Context(), client); errors.Is(err, ErrCircuitOpen) != c.opens {
					t.Errorf("after a fifth failure a day later the call is %v", err)
				}
			})
		})
	}
}
