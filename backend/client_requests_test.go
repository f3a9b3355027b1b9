package backend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

// clientCalls are all calls of a client, with what each asks and is answered.
var clientCalls = []struct {
	name      string
	do        func(context.Context, *backend.HTTPClient) (any, error)
	method    string
	uri       string
	body      string
	status    int
	answer    string
	want      any
	operation string
}{
	{
		"Provision", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.Provision(ctx, backend.ProvisionRequest{
				LeaseUUID: lease1, Tenant: "t", ProviderUUID: "p", CallbackURL: "http://h/cb", Payload: []byte("{}"), PayloadHash: "44",
				Items: []backend.LeaseItem{{SKU: "s", Quantity: 2}},
			})
		}, "POST", "/provision",
		`{"lease_uuid":"` + lease1 + `","tenant":"t","provider_uuid":"p","items":[{"sku":"s","quantity":2}],"callback_url":"http://h/cb","payload":"e30=","payload_hash":"44"}`,
		202, `{"provision_id":"` + lease1 + `","new_field":[1]}`, nil, "provision",
	},
	{
		"Deprovision", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return nil, c.Deprovision(ctx, lease1) },
		"POST", "/deprovision", `{"lease_uuid":"` + lease1 + `"}`, 200, `{"status":"ok"}`, nil, "deprovision",
	},
	{
		"Restart", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.Restart(ctx, backend.RestartRequest{LeaseUUID: lease1, CallbackURL: "http://h/cb"})
		}, "POST", "/restart", `{"lease_uuid":"` + lease1 + `","callback_url":"http://h/cb"}`, 202, `{"status":"restarting"}`, nil, "restart",
	},
	{
		"Update", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.Update(ctx, backend.UpdateRequest{LeaseUUID: lease1, CallbackURL: "http://h/cb", Payload: []byte("{}")})
		}, "POST", "/update", `{"lease_uuid":"` + lease1 + `","callback_url":"http://h/cb","payload":"e30="}`, 202, `{"status":"updating"}`, nil, "update",
	},
	{
		"Restore", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.Restore(ctx, backend.RestoreRequest{LeaseUUID: lease2, FromLeaseUUID: lease1, Tenant: "t", ProviderUUID: "p", CallbackURL: "http://h/cb",
				Items: []backend.LeaseItem{{SKU: "s", Quantity: 1, ServiceName: "db"}}})
		}, "POST", "/restore",
		`{"lease_uuid":"` + lease2 + `","from_lease_uuid":"` + lease1 + `","tenant":"t","provider_uuid":"p","items":[{"sku":"s","quantity":1,"service_name":"db"}],"callback_url":"http://h/cb"}`,
		202, `{"status":"restoring"}`, nil, "restore",
	},
	{
		"ReconcileCustomDomain", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.ReconcileCustomDomain(ctx, lease1, []backend.LeaseItem{{SKU: "s", Quantity: 1, CustomDomain: "a.example"}})
		}, "POST", "/reconcile_custom_domain", `{"lease_uuid":"` + lease1 + `","items":[{"sku":"s","quantity":1,"custom_domain":"a.example"}]}`,
		204, "", nil, "reconcile_custom_domain",
	},
	{
		"ReconcileCustomDomain accepted", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return nil, c.ReconcileCustomDomain(ctx, lease1, nil)
		}, "POST", "/reconcile_custom_domain", `{"lease_uuid":"` + lease1 + `","items":null}`, 202, "", nil, "reconcile_custom_domain",
	},
	{
		"GetInfo", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetInfo(ctx, lease1) },
		"GET", "/info/" + lease1, "", 200, `{"host":"h","ports":{"80/tcp":{"host_ip":"0.0.0.0","host_port":"1"}},"new_field":{}}`,
		&backend.LeaseInfo{Host: "h", Ports: map[string]backend.PortBinding{"80/tcp": {HostIP: "0.0.0.0", HostPort: "1"}}}, "get_info",
	},
	{
		"GetProvision", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetProvision(ctx, lease1) },
		"GET", "/provisions/" + lease1, "", 200, `{"lease_uuid":"` + lease1 + `","status":"failed","last_error":"no"}`,
		&backend.ProvisionInfo{LeaseUUID: lease1, Status: "failed", LastError: "no", Message: "no", Reason: backend.ReasonUnknown, BackendName: "b1"}, "get_provision",
	},
	{
		"GetLogs", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetLogs(ctx, lease1, 7) },
		"GET", "/logs/" + lease1 + "?tail=7", "", 200, `{"app/0":"x"}`, map[string]string{"app/0": "x"}, "get_logs",
	},
	{
		"GetLogs of no length", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetLogs(ctx, lease1, 0) },
		"GET", "/logs/" + lease1 + "?tail=100", "", 200, `null`, map[string]string{}, "get_logs",
	},
	{
		"GetLogs of any length", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetLogs(ctx, lease1, 1<<30) },
		"GET", "/logs/" + lease1 + "?tail=10000", "", 200, `{}`, map[string]string{}, "get_logs",
	},
	{
		"GetReleases", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetReleases(ctx, lease1) },
		"GET", "/releases/" + lease1, "", 200, `[{"version":1,"image":"i","status":"active","manifest":"e30="}]`,
		[]backend.ReleaseInfo{{Version: 1, Image: "i", Status: "active", Manifest: []byte("{}")}}, "get_releases",
	},
	{
		"GetReleases of none", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetReleases(ctx, lease1) },
		"GET", "/releases/" + lease1, "", 200, `null`, []backend.ReleaseInfo{}, "get_releases",
	},
	{
		"GetLoadStats", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetLoadStats(ctx) },
		"GET", "/stats", "", 200, `{"total_cpu_cores":8,"allocated_cpu_cores":2,"active_containers":3,"total_memory_mb":1}`,
		&backend.LoadStats{TotalCPUCores: 8, AllocatedCPUCores: 2, ActiveContainers: 3}, "get_load_stats",
	},
	{
		"GetLoadStats of a backend that does not count", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.GetLoadStats(ctx) },
		"GET", "/stats", "", 200, `null`, (*backend.LoadStats)(nil), "get_load_stats",
	},
	{
		"ListProvisions", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.ListProvisions(ctx) },
		"GET", "/provisions?limit=1000", "", 200, `{"provisions":[{"lease_uuid":"` + lease1 + `"}]}`,
		[]backend.ProvisionInfo{{LeaseUUID: lease1, BackendName: "b1"}}, "list_provisions",
	},
	{
		"ListProvisions of none", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.ListProvisions(ctx) },
		"GET", "/provisions?limit=1000", "", 200, `{"provisions":[]}`, []backend.ProvisionInfo{}, "list_provisions",
	},
	{
		"ListRetentions", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return c.ListRetentions(ctx) },
		"GET", "/retentions?limit=1000", "", 200, `{"retentions":[{"lease_uuid":"` + lease1 + `"}]}`,
		[]backend.RetainedLease{{LeaseUUID: lease1}}, "list_retentions",
	},
	{
		"LookupProvisions", func(ctx context.Context, c *backend.HTTPClient) (any, error) {
			return c.LookupProvisions(ctx, []string{lease2, lease1, lease2})
		}, "GET", "/provisions?lease_uuid=" + lease1 + "&lease_uuid=" + lease2, "", 200,
		`{"provisions":[{"lease_uuid":"` + lease2 + `"},{"lease_uuid":"` + lease3 + `"}]}`,
		[]backend.ProvisionInfo{{LeaseUUID: lease2, BackendName: "b1"}}, "lookup_provisions",
	},
	{
		"Health", func(ctx context.Context, c *backend.HTTPClient) (any, error) { return nil, c.Health(ctx) },
		"GET", "/health", "", 200, `{"status":"healthy"}`, nil, "health",
	},
}

func TestTheClientAsksWhatTheProtocolSays(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{clientSecret}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"", "/", "/under/a%2Fpath/"} {
		for _, tt := range clientCalls {
			t.Run(tt.name+" at "+base, func(t *testing.T) {
				c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					wantURI := base + tt.uri
					if base != "" {
						wantURI = base[:len(base)-1] + tt.uri
					}
					if r.Method != tt.method || r.RequestURI != wantURI || string(body) != tt.body {
						t.Errorf("asked\n%s %s\n%s\nwant\n%s %s\n%s", r.Method, r.RequestURI, body, tt.method, wantURI, tt.body)
					}
					if isJSON := r.Header.Get("Content-Type") == "application/json"; isJSON != (tt.body != "") {
						t.Errorf("the type of the body is %q", r.Header.Get("Content-Type"))
					}
					signed := r.Header.Get(hmacauth.Header)
					if tt.name == "Health" {
						if signed != "" {
							t.Error("a question for health is signed")
						}
					} else if err := verifier.Verify(r.Method, r.RequestURI, body, signed); err != nil {
						t.Errorf("the signature %q is %v", signed, err)
					}
					saysJSON(tt.status, tt.answer)(w, r)
				}, func(cfg *backend.HTTPClientConfig) {
					cfg.BaseURL += base
					cfg.Now = func() time.Time { return now }
				})
				got, err := tt.do(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if tt.want != nil && !reflect.DeepEqual(got, tt.want) {
					t.Errorf("the answer is %s, want %s", asJSON(got), asJSON(tt.want))
				}
			})
		}
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	return fmt.Sprintf("%T %s %v", v, b, err)
}

func TestWithoutASecretNothingIsSigned(t *testing.T) {
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Header[hmacauth.Header]; ok {
			t.Error("a request is signed")
		}
		saysJSON(200, `{"status":"ok"}`)(w, r)
	}, func(cfg *backend.HTTPClientConfig) { cfg.Secret = "" })
	if err := c.Deprovision(t.Context(), lease1); err != nil {
		t.Error(err)
	}
}

func TestAConfigurationThatIsNoGoodIsTheErrorOfEachCall(t *testing.T) {
	for _, cfg := range []backend.HTTPClientConfig{
		{BaseURL: ""},
		{BaseURL: "localhost:1"},
		{BaseURL: "ftp://host"},
		{BaseURL: "http://"},
		{BaseURL: "http://:80"},
		{BaseURL: "http://user:hunter2@host"},
		{BaseURL: "http://host?hunter2"},
		{BaseURL: "http://host/#hunter2"},
		{BaseURL: "http://host/%zz-hunter2"},
		{BaseURL: "http://host", Secret: "hunter2"},
	} {
		cfg.Name = "b1"
		c := backend.NewHTTPClient(cfg)
		for _, tt := range clientCalls {
			_, err := tt.do(t.Context(), c)
			if err == nil {
				t.Errorf("%q: %s succeeds", cfg.BaseURL, tt.name)
			} else if want := "backend b1: " + tt.operation + ": "; !hasParts(err.Error(), want) || isErr(err, backend.ErrCircuitOpen) || hasParts(err.Error(), "dial") || hasParts(err.Error(), "hunter2") {
				t.Errorf("%q: %s is %v, want %s… without what is secret", cfg.BaseURL, tt.name, err, want)
			}
		}
		if c.Name() != "b1" || c.RefreshState(t.Context()) != nil {
			t.Errorf("%q: what asks nothing fails, too", cfg.BaseURL)
		}
	}
}

func TestALeaseThatIsNoUUIDIsNotSent(t *testing.T) {
	c := clientTo(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked %s %s", r.Method, r.RequestURI) })
	ctx := t.Context()
	for _, id := range []string{"", "x", "../stats", lease1 + "/..", "018f3c1e7b2a7c4d9e5f000000000001", "{" + lease1 + "}", "urn:uuid:" + lease1, lease1[:35] + "?", lease1[:35] + "g"} {
		calls := map[string]error{
			"Deprovision":           c.Deprovision(ctx, id),
			"Provision":             c.Provision(ctx, backend.ProvisionRequest{LeaseUUID: id}),
			"Restart":               c.Restart(ctx, backend.RestartRequest{LeaseUUID: id}),
			"Update":                c.Update(ctx, backend.UpdateRequest{LeaseUUID: id}),
			"Restore":               c.Restore(ctx, backend.RestoreRequest{LeaseUUID: id, FromLeaseUUID: lease1}),
			"Restore from":          c.Restore(ctx, backend.RestoreRequest{LeaseUUID: lease1, FromLeaseUUID: id}),
			"ReconcileCustomDomain": c.ReconcileCustomDomain(ctx, id, nil),
		}
		_, calls["GetInfo"] = c.GetInfo(ctx, id)
		_, calls["GetProvision"] = c.GetProvision(ctx, id)
		_, calls["GetLogs"] = c.GetLogs(ctx, id, 1)
		_, calls["GetReleases"] = c.GetReleases(ctx, id)
		_, calls["LookupProvisions"] = c.LookupProvisions(ctx, []string{lease1, id})
		for name, err := range calls {
			if !isErr(err, backend.ErrValidation) {
				t.Errorf("%s of %q is %v, want %v", name, id, err, backend.ErrValidation)
			}
		}
	}
}

func TestALookupFindsALeaseHoweverItIsWritten(t *testing.T) {
	c := clientTo(t, saysJSON(200, `{"provisions":[{"lease_uuid":"`+lease1+`"}]}`))
	if got, err := c.LookupProvisions(t.Context(), []string{strings.ToUpper(lease1)}); err != nil || len(got) != 1 {
		t.Errorf("the lookup is %v, %v, want the lease", got, err)
	}
}

func TestALookupHasABound(t *testing.T) {
	c := clientTo(t, saysJSON(200, `{"provisions":[]}`))
	for n, want := range map[int]error{0: backend.ErrValidation, 1: nil, backend.MaxLookupUUIDs: nil, backend.MaxLookupUUIDs + 1: backend.ErrValidation} {
		got, err := c.LookupProvisions(t.Context(), slices.Repeat([]string{lease1}, n))
		if !isErr(err, want) || (err == nil && got == nil) {
			t.Errorf("a lookup of %d is %v, %v, want %v", n, got, err, want)
		}
	}
}
