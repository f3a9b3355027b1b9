package backend_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
)

// pagesOf answers each page in turn, and counts them.
func pagesOf(asked *[]string, pages ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.RawQuery)
		if len(*asked) > len(pages) {
			saysJSON(500, `{"error":"no more pages"}`)(w, r)
			return
		}
		saysJSON(200, pages[len(*asked)-1])(w, r)
	}
}

func TestAListIsAllOfItsPagesOrAnError(t *testing.T) {
	page := func(lease, next string) string {
		return `{"LIST":[{"lease_uuid":"` + lease + `"}],"continue":"` + next + `"}`
	}
	tests := []struct {
		name  string
		pages []string
		want  []string // nil is an error
		asked int
	}{
		{"one page", []string{page(lease1, "")}, []string{lease1}, 1},
		{"three pages", []string{page(lease1, lease1), page(lease2, lease2), page(lease3, "")}, []string{lease1, lease2, lease3}, 3},
		{"an empty page in between", []string{page(lease1, lease1), `{"LIST":[],"continue":"` + lease2 + `"}`, page(lease3, "")}, []string{lease1, lease3}, 3},
		{"the second page fails", []string{page(lease1, lease1)}, nil, 2},
		{"the second page is no page", []string{page(lease1, lease1), `{}`}, nil, 2},
		{"a token that stays", []string{page(lease1, lease1), page(lease2, lease1), page(lease3, "")}, nil, 2},
		{"a token that goes back", []string{page(lease1, lease2), page(lease2, lease1), page(lease3, "")}, nil, 2},
	}
	for _, tt := range tests {
		for _, list := range []string{"provisions", "retentions"} {
			t.Run(tt.name+" of "+list, func(t *testing.T) {
				var asked []string
				pages := slices.Clone(tt.pages)
				for i := range pages {
					pages[i] = strings.ReplaceAll(pages[i], "LIST", list)
				}
				c := clientTo(t, pagesOf(&asked, pages...), func(cfg *backend.HTTPClientConfig) { cfg.ProvisionsPageLimit = 7 })
				got, err := uuidsListed(t.Context(), c, list)
				if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
					t.Errorf("the list is %v, %v, want %v", got, err, tt.want)
				}
				if len(asked) != tt.asked || asked[0] != "limit=7" || (len(asked) > 1 && !hasParts(asked[1], "continue=018f", "&limit=7")) {
					t.Errorf("asked for %v, want %d pages of 7", asked, tt.asked)
				}
			})
		}
	}
}

func uuidsListed(ctx context.Context, c *backend.HTTPClient, list string) (uuids []string, err error) {
	if list == "retentions" {
		all, err := c.ListRetentions(ctx)
		for _, r := range all {
			uuids = append(uuids, r.LeaseUUID)
		}
		return uuids, err
	}
	all, err := c.ListProvisions(ctx)
	for _, p := range all {
		uuids = append(uuids, p.LeaseUUID)
	}
	return uuids, err
}

func TestAPageIsNeverAskedToBeLargerThanTheMost(t *testing.T) {
	for limit, want := range map[int]string{0: "limit=1000", -1: "limit=1000", 1: "limit=1", 5000: "limit=5000", 5001: "limit=5000"} {
		var asked []string
		c := clientTo(t, pagesOf(&asked, `{"provisions":[]}`), func(cfg *backend.HTTPClientConfig) { cfg.ProvisionsPageLimit = limit })
		if _, err := c.ListProvisions(t.Context()); err != nil || asked[0] != want {
			t.Errorf("a limit of %d asks for %v, %v, want %s", limit, asked, err, want)
		}
	}
}

// Whatever there is and however it is cut, a client gets it from a server that
// pages as this package does.
func TestTheClientReadsWhatThePagesWereMadeOf(t *testing.T) {
	var all []backend.ProvisionInfo
	limit := 1
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		_, after, err := backend.ParseProvisionsPageParams(r.URL.Query())
		if err != nil {
			t.Error(err)
		}
		page, next := backend.PaginateProvisions(all, after, limit)
		_ = json.NewEncoder(w).Encode(backend.ListProvisionsResponse{Provisions: page, Continue: next})
	})
	rapid.Check(t, func(t *rapid.T) {
		seen := rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}`), 0, 12, rapid.ID[string]).Draw(t, "leases")
		limit = rapid.IntRange(1, 5).Draw(t, "limit")
		all = nil
		for _, id := range seen {
			all = append(all, backend.ProvisionInfo{LeaseUUID: id})
		}
		got, err := uuidsListed(context.Background(), c, "provisions")
		slices.Sort(seen)
		if err != nil || !slices.Equal(got, seen) {
			t.Fatalf("the list is %v, %v, want %v", got, err, seen)
		}
	})
}
