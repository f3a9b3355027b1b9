package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// backendOf serves a handler on a socket and returns a client of it.
func backendOf(t *testing.T, h http.HandlerFunc) *client.Backend {
	t.Helper()
	path := socketPath(t)
	listen(t, path, h)
	b := client.NewBackend(path)
	t.Cleanup(b.Close)
	return b
}

func TestARefusalOfABackendIsAProblemInEitherForm(t *testing.T) {
	for _, tt := range []struct {
		code int
		body string
		kind wire.ProblemType
		says string
	}{
		{403, `{"type":"urn:berth:problem:forbidden","title":"Not allowed","detail":"user 7"}`, wire.ProblemForbidden, "user 7"},
		{404, `{"error":"lease is not provisioned"}`, wire.ProblemNotFound, "lease is not provisioned"},
		{400, `{"error":"tail is not a number"}`, wire.ProblemInvalidRequest, "tail is not a number"},
		{403, `{"error":"over the Unix socket alone"}`, wire.ProblemForbidden, "over the Unix socket"},
		{503, `{"error":"the backend cannot do its work"}`, wire.ProblemBusy, "cannot do its work"},
		{500, `{"error":"internal error"}`, wire.ProblemInternal, "internal error"},
		{502, ``, wire.ProblemInternal, "502 Bad Gateway"},
	} {
		b := backendOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.code)
			_, _ = fmt.Fprint(w, tt.body)
		})
		_, err := b.Status(t.Context())
		if !client.IsProblem(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%d %s: %v", tt.code, tt.body, err)
		}
	}
}

// What refuses in neither form is no backend, whatever is asked.
func TestWhatIsNoBackendIsToldApart(t *testing.T) {
	for _, body := range []string{"404 page not found", `{"message":"page not found"}`, ""} {
		b := backendOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, body)
		})
		if _, err := b.Status(t.Context()); !errors.Is(err, client.ErrStranger) || !strings.Contains(err.Error(), "404") {
			t.Errorf("%q: %v", body, err)
		}
		if b.IsServer(t.Context()) {
			t.Errorf("%q is taken for a server", body)
		}
	}
}

func TestAListOfLeasesIsWholeOrAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		next map[string]string // page after page
		want int
	}{
		"one page":          {map[string]string{"": ""}, 1},
		"three pages":       {map[string]string{"": "a", "a": "b", "b": ""}, 3},
		"goes back":         {map[string]string{"": "b", "b": "a"}, -1},
		"stays":             {map[string]string{"": "a", "a": "a"}, -1},
		"ends with a fault": {map[string]string{"": "a"}, -1},
	} {
		b := backendOf(t, func(w http.ResponseWriter, r *http.Request) {
			after := r.URL.Query().Get("continue")
			next, ok := tt.next[after]
			if !ok {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"provisions": []map[string]string{{"lease_uuid": after + "x"}}, "continue": next})
		})
		all, err := b.Leases(t.Context())
		if (err != nil) != (tt.want < 0) || err == nil && len(all) != tt.want || err != nil && all != nil {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
}

func TestWhatIsRetainedIsReadPageByPage(t *testing.T) {
	b := backendOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path + "?" + r.URL.Query().Get("continue") {
		case "/admin/retentions?":
			_, _ = fmt.Fprint(w, `{"retentions":[{"lease_uuid":"a","id":"s1","state":"retained","tenant":"acme","disk_mb":64,"volumes":[{"service":"app","index":1,"path":"/data","id":"v1"}]}],"continue":"s1"}`)
		case "/admin/retentions?s1":
			_, _ = fmt.Fprint(w, `{"retentions":[{"lease_uuid":"b","id":"s2","state":"reaping"}]}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	all, err := b.Retentions(t.Context())
	if err != nil || len(all) != 2 || all[0].Tenant != "acme" || all[0].DiskMB != 64 || all[0].Volumes[0].ID != "v1" || all[1].State != "reaping" {
		t.Errorf("%+v, %v", all, err)
	}
}
