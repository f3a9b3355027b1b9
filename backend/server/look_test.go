package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/server"
)

func three() *scripted {
	return &scripted{
		info: &backend.LeaseInfo{Host: "h"},
		// Not in order: the server sorts.
		provisions: []backend.ProvisionInfo{{LeaseUUID: lease3}, {LeaseUUID: lease1}, {LeaseUUID: lease2}},
		retentions: []backend.RetainedLease{{LeaseUUID: lease3}, {LeaseUUID: lease1}, {LeaseUUID: lease2}},
		logs:       map[string]string{"app/0": "hello\n"},
		releases:   []backend.ReleaseInfo{{Version: 1, Manifest: []byte("hello")}},
	}
}

func TestALookIsAnswered(t *testing.T) {
	for _, c := range []struct {
		target string
		asked  any
		has    string
	}{
		{"/info/" + lease1, lease1, `{"host":"h"}`},
		{"/info/" + strings.ToUpper(lease1), lease1, `{"host":"h"}`},
		{"/provisions/" + lease1, lease1, `"lease_uuid":"` + lease3},
		{"/logs/" + lease1, logCall{lease1, 100}, `{"app/0":"hello\n"}`},
		{"/logs/" + lease1 + "?tail=1", logCall{lease1, 1}, `hello`},
		{"/logs/" + lease1 + "?tail=10000", logCall{lease1, 10000}, `hello`},
		{"/releases/" + lease1, lease1, `"manifest":"aGVsbG8="`},
		{"/provisions?lease_uuid=" + lease2 + "&lease_uuid=" + lease1 + "&lease_uuid=" + strings.ToUpper(lease1), []string{lease1, lease2}, `{"provisions":[{`},
	} {
		b := three()
		if got := ask(t, unsigned(b), "GET", c.target, ""); got.code != 200 || !strings.Contains(got.body, c.has) {
			t.Errorf("%s is answered with %d %s, want 200 with %s", c.target, got.code, got.body, c.has)
		}
		if !reflect.DeepEqual(b.last(), c.asked) {
			t.Errorf("%s asked the backend for %+v, want %+v", c.target, b.last(), c.asked)
		}
	}
}

func TestALookThatIsNotWellFormedReachesNoBackend(t *testing.T) {
	many := "lease_uuid=" + lease1
	for range 100 {
		many += "&lease_uuid=" + lease1
	}
	for _, target := range []string{
		"/info/x", "/provisions/x", "/logs/x", "/releases/x",
		"/logs/" + lease1 + "?tail=0", "/logs/" + lease1 + "?tail=10001", "/logs/" + lease1 + "?tail=", "/logs/" + lease1 + "?tail=1e3",
		"/logs/" + lease1 + "?tail=%zz",
		"/provisions?lease_uuid=", "/provisions?lease_uuid=x", "/provisions?" + many, "/provisions?lease_uuid=" + lease1 + ";x",
		"/provisions?limit=-1", "/provisions?limit=x", "/provisions?limit=", "/provisions?continue=" + lease1, "/provisions?limit=1&continue=x",
		"/provisions?limit=0&continue=" + lease1, "/provisions?limit=99999999999999999999",
		"/retentions?limit=-1", "/retentions?continue=" + lease1, "/retentions?limit=1;",
	} {
		b := three()
		got := ask(t, unsigned(b), "GET", target, "")
		if e := got.refused(t); got.code != 400 || b.last() != nil {
			t.Errorf("%.80s is answered with %d %+v and asked the backend for %v", target, got.code, e, b.last())
		}
	}
}

func TestAListIsSortedAndComesInPages(t *testing.T) {
	type page struct {
		Provisions, Retentions []backend.RetainedLease
		Continue               string
	}
	for _, path := range []string{"/provisions", "/retentions"} {
		for query, want := range map[string]string{
			"":                            lease1 + " " + lease2 + " " + lease3 + " ",
			"?limit=0":                    lease1 + " " + lease2 + " " + lease3 + " ",
			"?limit=3":                    lease1 + " " + lease2 + " " + lease3 + " ",
			"?limit=1000000000":           lease1 + " " + lease2 + " " + lease3 + " ",
			"?limit=2":                    lease1 + " " + lease2 + " then " + lease2,
			"?limit=2&continue=" + lease2: lease3 + " ",
			"?limit=2&continue=" + strings.ToUpper(lease1): lease2 + " " + lease3 + " ",
			"?limit=2&continue=" + lease3:                  "",
		} {
			got := ask(t, unsigned(three()), "GET", path+query, "")
			var p page
			if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.code != 200 {
				t.Fatalf("%s%s is answered with %d %s", path, query, got.code, got.body)
			}
			text := ""
			for _, l := range append(p.Provisions, p.Retentions...) {
				text += l.LeaseUUID + " "
			}
			if p.Continue != "" {
				text += "then " + p.Continue
			}
			if text != want {
				t.Errorf("%s%s is %q, want %q", path, query, text, want)
			}
		}
	}
}

// paged is a backend that finds pages by itself.
type paged struct{ *scripted }

var (
	_ backend.ProvisionPager = paged{}
	_ backend.RetentionPager = paged{}
)

func (p paged) PageProvisions(ctx context.Context, after string, limit int) ([]backend.ProvisionInfo, string, error) {
	return nil, lease3, p.note(ctx, fmt.Sprint("page ", after, " ", limit))
}

func (p paged) PageRetentions(ctx context.Context, after string, limit int) ([]backend.RetainedLease, string, error) {
	return nil, lease3, p.note(ctx, fmt.Sprint("page ", after, " ", limit))
}

func TestABackendThatFindsPagesIsAskedForThem(t *testing.T) {
	for _, path := range []string{"/provisions", "/retentions"} {
		for query, want := range map[string]string{
			"?limit=2":                    "page  2",
			"?limit=2&continue=" + lease2: "page " + lease2 + " 2",
			"?limit=5001":                 "page  5000",
		} {
			b := paged{three()}
			got := ask(t, unsigned(b), "GET", path+query, "")
			if b.last() != want || !strings.Contains(got.body, `[],"continue":"`+lease3) {
				t.Errorf("%s%s asked the backend for %v and said %s", path, query, b.last(), got.body)
			}
		}
	}
}

func TestNothingIsAnEmptyListAndNotNull(t *testing.T) {
	for target, want := range map[string]string{
		"/provisions":                      `{"provisions":[]}`,
		"/provisions?limit=1":              `{"provisions":[]}`,
		"/provisions?lease_uuid=" + lease1: `{"provisions":[]}`,
		"/retentions":                      `{"retentions":[]}`,
		"/logs/" + lease1:                  `{}`,
		"/releases/" + lease1:              `[]`,
		"/stats":                           `{"total_cpu_cores":0,"allocated_cpu_cores":0,"active_containers":0}`,
	} {
		if got := ask(t, unsigned(&scripted{}), "GET", target, ""); got.code != 200 || got.body != want {
			t.Errorf("%s is answered with %d %s, want %s", target, got.code, got.body, want)
		}
	}
}

func TestAnAnswerOfNothingIsAnError(t *testing.T) {
	for _, path := range []string{"/info/", "/provisions/"} {
		if got := ask(t, unsigned(&scripted{}), "GET", path+lease1, ""); got.code != 500 {
			t.Errorf("%s is answered with %d %s", path, got.code, got.body)
		}
	}
}

// counting is a backend that counts more than CPUs.
type counting struct{ *scripted }

var _ server.StatsSource = counting{}

func (c counting) GetStats(ctx context.Context) (*server.Stats, error) {
	return &server.Stats{LoadStats: backend.LoadStats{TotalCPUCores: 8}, TotalMemoryMB: 16}, c.note(ctx, "stats")
}

func TestStatsAreAllThatTheBackendCounts(t *testing.T) {
	few := &scripted{load: &backend.LoadStats{TotalCPUCores: 4, AllocatedCPUCores: 1.5, ActiveContainers: 3}}
	if got := ask(t, unsigned(few), "GET", "/stats", ""); got.body != `{"total_cpu_cores":4,"allocated_cpu_cores":1.5,"active_containers":3}` {
		t.Errorf("stats are %s", got.body)
	}
	got := ask(t, unsigned(counting{three()}), "GET", "/stats", "")
	if !strings.Contains(got.body, `"total_cpu_cores":8`) || !strings.Contains(got.body, `"total_memory_mb":16`) {
		t.Errorf("stats are %s", got.body)
	}
}

func TestAListSaysOfALeaseWhatTheLeaseAloneDoes(t *testing.T) {
	for _, info := range []backend.ProvisionInfo{
		{LeaseUUID: lease1, Status: backend.ProvisionStatusFailed, LastError: "older"},
		{LeaseUUID: lease1, Status: backend.ProvisionStatusFailed, Message: "newer", Reason: backend.ReasonInternal},
		{LeaseUUID: lease1, LastError: "a", Message: "b"},
		{LeaseUUID: lease1, Status: backend.ProvisionStatusReady, CreatedAt: time.Unix(1, 0).UTC(), Tenant: "<t>", Items: []backend.LeaseItem{{SKU: "s", Quantity: 1}}, ServiceImages: map[string]string{"app": "i"}, FailCount: 3},
	} {
		want, err := json.Marshal(backend.ListProvisionsResponse{Provisions: []backend.ProvisionInfo{info}})
		if err != nil {
			t.Fatal(err)
		}
		b := &scripted{provisions: []backend.ProvisionInfo{info}}
		for _, target := range []string{"/provisions", "/provisions?limit=5", "/provisions?lease_uuid=" + lease1} {
			if got := ask(t, unsigned(b), "GET", target, ""); got.body != string(want) {
				t.Errorf("%s is answered with %s, want %s", target, got.body, want)
			}
		}
	}
}
