package backend_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
)

const someUUID = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"

func TestPageParameters(t *testing.T) {
	for query, want := range map[string]struct {
		limit int
		token string
		fails string
	}{
		"":                                   {},
		"lease_uuid=x":                       {},
		"limit=0":                            {},
		"limit=1":                            {limit: 1},
		"limit=1000000":                      {limit: 1000000}, // made MaxPageLimit when the page is cut
		"limit=%2B7":                         {limit: 7},
		"limit=10&continue=" + someUUID:      {limit: 10, token: someUUID},
		"continue=" + someUUID + "&limit=10": {limit: 10, token: someUUID},
		"limit=10&continue=" + strings.ToUpper(someUUID):             {limit: 10, token: someUUID},
		"limit=10&continue=" + strings.ReplaceAll(someUUID, "-", ""): {limit: 10, token: someUUID},
		"limit=10&continue=urn:uuid:" + someUUID:                     {limit: 10, token: someUUID},
		"limit=":                                                     {fails: "not a number"},
		"limit=-1":                                                   {fails: "not a number"},
		"limit=1.5":                                                  {fails: "not a number"},
		"limit=ten":                                                  {fails: "not a number"},
		"limit=99999999999999999999":                                 {fails: "not a number"},
		"limit=5&continue=":                                          {fails: "not the UUID"},
		"limit=5&continue=next":                                      {fails: "not the UUID"},
		"continue=" + someUUID:                                       {fails: "without a limit"},
		"limit=0&continue=" + someUUID:                               {fails: "without a limit"},
		"limit=" + strings.Repeat("x", 900):                          {fails: "…"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		limit, token, err := backend.ParseProvisionsPageParams(values)
		switch {
		case want.fails != "":
			if err == nil || !strings.Contains(err.Error(), want.fails) || len(err.Error()) > 200 || limit != 0 || token != "" {
				t.Errorf("%.80q: %d, %q, %v; want an error that says %q", query, limit, token, err, want.fails)
			}
		case err != nil || limit != want.limit || token != want.token:
			t.Errorf("%q: %d, %q, %v; want %d, %q", query, limit, token, err, want.limit, want.token)
		}
	}
}

func FuzzPageParameters(f *testing.F) {
	for _, query := range []string{"", "limit=5", "limit=5&continue=" + someUUID, "continue=x", "limit=-0", "limit=+0x1"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		limit, token, err := backend.ParseProvisionsPageParams(values)
		if err != nil {
			if limit != 0 || token != "" || len(err.Error()) > 400 {
				t.Fatalf("%q: %d, %q beside the error %v", query, limit, token, err)
			}
			return
		}
		if limit < 0 || token != "" && limit == 0 {
			t.Fatalf("%q: %d, %q", query, limit, token)
		}
		if token != "" {
			if u, err := uuid.Parse(token); err != nil || u.String() != token {
				t.Fatalf("%q: the token %q is not a UUID in its usual form", query, token)
			}
		}
	})
}

// provisionsOf are leases of those UUIDs, each with its place in the list.
func provisionsOf(uuids ...string) []backend.ProvisionInfo {
	all := make([]backend.ProvisionInfo, len(uuids))
	for i, u := range uuids {
		all[i] = backend.ProvisionInfo{LeaseUUID: u, FailCount: i}
	}
	return all
}

func uuidsOf(all []backend.ProvisionInfo) string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.LeaseUUID
	}
	return strings.Join(out, " ")
}

func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		all   string
		token string
		limit int
		page  string
		next  string
	}{
		"no limit: all, in order":                 {"c a b", "", 0, "a b c", ""},
		"below zero as well":                      {"c a b", "", -1, "a b c", ""},
		"without a limit a token does not matter": {"c a b", "b", 0, "a b c", ""},
		"the first page":                          {"c a b d", "", 2, "a b", "b"},
		"the page after a lease":                  {"c a b d e", "b", 2, "c d", "d"},
		"a last page that is full has no next":    {"c a b d", "b", 2, "c d", ""},
		"a last page that is not full":            {"c a b", "b", 2, "c", ""},
		"after a lease that is gone":              {"d a c", "b", 1, "c", "c"},
		"after the last":                          {"a b", "b", 5, "", ""},
		"after all":                               {"a b", "z", 5, "", ""},
		"of none":                                 {"", "", 5, "", ""},
		"of none without a limit":                 {"", "", 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := provisionsOf(strings.Fields(c.all)...)
			page, next := backend.PaginateProvisions(all, c.token, c.limit)
			if page == nil || uuidsOf(page) != c.page || next != c.next {
				t.Errorf("the page is %q (nil: %v), the next token %q; want %q, %q", uuidsOf(page), page == nil, next, c.page, c.next)
			}
			if uuidsOf(all) != c.all {
				t.Errorf("the list was %q and is %q", c.all, uuidsOf(all))
			}
			var kept []backend.RetainedLease
			for _, u := range strings.Fields(c.all) {
				kept = append(kept, backend.RetainedLease{LeaseUUID: u})
			}
			retained, next := backend.PaginateRetentions(kept, c.token, c.limit)
			if retained == nil || len(retained) != len(page) || next != c.next {
				t.Errorf("of retentions the page is %v, the next token %q", retained, next)
			}
		})
	}
}

func TestAPageHasNoMoreThanTheMost(t *testing.T) {
	all := make([]backend.ProvisionInfo, backend.MaxPageLimit+1)
	for i := range all {
		all[i].LeaseUUID = uuid.UUID{byte(i >> 8), byte(i)}.String()
	}
	page, next := backend.PaginateProvisions(all, "", 1<<40)
	if len(page) != backend.MaxPageLimit || next != page[len(page)-1].LeaseUUID {
		t.Errorf("a limit beyond the most: %d leases, next %q", len(page), next)
	}
	if page, next := backend.PaginateProvisions(all, "", 0); len(page) != len(all) || next != "" {
		t.Errorf("no limit: %d leases, next %q", len(page), next)
	}
}

func TestAppendingToAPageChangesNoOther(t *testing.T) {
	all := provisionsOf("a", "b", "c")
	page, _ := backend.PaginateProvisions(all, "", 2)
	_ = append(page, backend.ProvisionInfo{LeaseUUID: "changed"})
	page[0].LeaseUUID = "changed"
	if got := uuidsOf(all); got != "a b c" {
		t.Errorf("the list is %q", got)
	}
}

func TestAWalkOverAllPagesIsTheSortedList(t *testing.T) {
	drawUUID := rapid.Custom(func(t *rapid.T) string {
		// Few values, so that neighbours share a beginning.
		return uuid.UUID{rapid.ByteRange(0, 2).Draw(t, "first"), 15: rapid.Byte().Draw(t, "last")}.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		uuids := rapid.SliceOfNDistinct(drawUUID, 0, 60, rapid.ID[string]).Draw(t, "leases")
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		all := provisionsOf(uuids...)
		want, _ := backend.PaginateProvisions(all, "", 0)
		if !slices.IsSortedFunc(want, func(a, b backend.ProvisionInfo) int { return strings.Compare(a.LeaseUUID, b.LeaseUUID) }) || len(want) != len(all) {
			t.Fatalf("without a limit it is %v", uuidsOf(want))
		}
		var walked []backend.ProvisionInfo
		for token := ""; ; {
			page, next := backend.PaginateProvisions(all, token, limit)
			walked = append(walked, page...)
			if next == "" {
				break
			}
			if len(page) != limit || next <= token || next != page[limit-1].LeaseUUID {
				t.Fatalf("after %q the page of %d is %q, the next token %q", token, limit, uuidsOf(page), next)
			}
			token = next
		}
		if !slices.EqualFunc(walked, want, func(a, b backend.ProvisionInfo) bool {
			return a.LeaseUUID == b.LeaseUUID && a.FailCount == b.FailCount
		}) {
			t.Fatalf("the walk is %q; want %q", uuidsOf(walked), uuidsOf(want))
		}
	})
}

func TestAWalkMissesNoLeaseThatIsThereThroughout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom(strings.Split("abcdefghijklmnopqrstuvwxyz", ""))
		stay := rapid.SliceOfNDistinct(letters, 1, 10, rapid.ID[string]).Draw(t, "those that stay")
		seen := map[string]int{}
		for token := ""; ; {
			// Others come and go between pages.
			others := rapid.SliceOfNDistinct(letters, 0, 10, rapid.ID[string]).Draw(t, "others now")
			now := slices.Compact(slices.Sorted(slices.Values(append(others, stay...))))
			page, next := backend.PaginateProvisions(provisionsOf(now...), token, 3)
			for _, p := range page {
				seen[p.LeaseUUID]++
			}
			if next == "" {
				break
			}
			token = next
		}
		for _, u := range stay {
			if seen[u] != 1 {
				t.Fatalf("%s was seen %d times", u, seen[u])
			}
		}
	})
}
