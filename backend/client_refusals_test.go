package backend_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
)

func isErr(err, want error) bool { return errors.Is(err, want) }

func hasParts(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// sentinels are all errors that a call may mean.
var sentinels = []error{
	backend.ErrNotProvisioned, backend.ErrAlreadyProvisioned, backend.ErrInvalidState, backend.ErrInsufficientResources,
	backend.ErrNotRetained, backend.ErrRestoreRefused, backend.ErrDemoteDataExceedsTier, backend.ErrValidation, backend.ErrCircuitOpen,
	backend.ErrResponseTooLarge, backend.ErrMalformedErrorBody, backend.ErrUnknownSKU, backend.ErrInvalidManifest, backend.ErrImageNotAllowed,
}

// onlyIs is whether err means want, or what want is a kind of, and nothing else. No
// want is a failure without a meaning.
func onlyIs(err, want error) bool {
	if err == nil {
		return false
	}
	for _, s := range sentinels {
		if errors.Is(err, s) != (want != nil && errors.Is(want, s)) {
			return false
		}
	}
	return true
}

// clientOps are the calls whose answers are refused in the tables below.
var clientOps = map[string]func(context.Context, *backend.HTTPClient) error{
	"provision": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Provision(ctx, backend.ProvisionRequest{LeaseUUID: lease1})
	},
	"deprovision": func(ctx context.Context, c *backend.HTTPClient) error { return c.Deprovision(ctx, lease1) },
	"restart": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Restart(ctx, backend.RestartRequest{LeaseUUID: lease1})
	},
	"update": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Update(ctx, backend.UpdateRequest{LeaseUUID: lease1})
	},
	"restore": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Restore(ctx, backend.RestoreRequest{LeaseUUID: lease2, FromLeaseUUID: lease1})
	},
	"domain": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.ReconcileCustomDomain(ctx, lease1, nil)
	},
	"info": func(ctx context.Context, c *backend.HTTPClient) error { _, err := c.GetInfo(ctx, lease1); return err },
	"provision info": func(ctx context.Context, c *backend.HTTPClient) error {
		_, err := c.GetProvision(ctx, lease1)
		return err
	},
	"logs": func(ctx context.Context, c *backend.HTTPClient) error {
		_, err := c.GetLogs(ctx, lease1, 1)
		return err
	},
	"releases": func(ctx context.Context, c *backend.HTTPClient) error {
		_, err := c.GetReleases(ctx, lease1)
		return err
	},
	"list":       func(ctx context.Context, c *backend.HTTPClient) error { _, err := c.ListProvisions(ctx); return err },
	"retentions": func(ctx context.Context, c *backend.HTTPClient) error { _, err := c.ListRetentions(ctx); return err },
	"lookup": func(ctx context.Context, c *backend.HTTPClient) error {
		_, err := c.LookupProvisions(ctx, []string{lease1})
		return err
	},
	"stats":  func(ctx context.Context, c *backend.HTTPClient) error { _, err := c.GetLoadStats(ctx); return err },
	"health": func(ctx context.Context, c *backend.HTTPClient) error { return c.Health(ctx) },
}

func TestRefusalsMeanWhatTheProtocolSays(t *testing.T) {
	const words = `{"error":"because"}`
	code := func(c string) string { return `{"error":"because","code":"` + c + `"}` }
	kind := func(c string) string { return `{"error":"because","validation_code":"` + c + `"}` }
	malformed := backend.ErrMalformedErrorBody
	tests := []struct {
		op     string
		status int
		body   string
		want   error // nil is a failure that means nothing
	}{
		{"provision", 400, words, backend.ErrValidation},
		{"provision", 400, kind("unknown_sku"), backend.ErrUnknownSKU},
		{"provision", 400, kind("invalid_manifest"), backend.ErrInvalidManifest},
		{"provision", 400, kind("image_not_allowed"), backend.ErrImageNotAllowed},
		{"provision", 400, kind("from_the_future"), backend.ErrValidation},
		{"provision", 409, words, backend.ErrAlreadyProvisioned},
		{"provision", 409, code("from_the_future"), backend.ErrAlreadyProvisioned},
		{"provision", 409, "", backend.ErrAlreadyProvisioned},
		{"provision", 503, words, backend.ErrInsufficientResources},
		{"provision", 404, words, nil},
		{"provision", 401, `{"error":"invalid signature"}`, nil},
		{"provision", 413, words, nil},
		{"provision", 422, "", nil},
		{"provision", 500, words, nil},
		{"provision", 200, `{"provision_id":"x"}`, nil},

		{"deprovision", 400, words, backend.ErrValidation},
		{"deprovision", 404, words, nil},
		{"deprovision", 503, words, nil},

		{"restart", 400, words, backend.ErrValidation},
		{"restart", 404, words, backend.ErrNotProvisioned},
		{"restart", 409, words, backend.ErrInvalidState},
		{"restart", 409, "", backend.ErrInvalidState},
		{"restart", 503, words, nil},
		{"update", 400, kind("invalid_manifest"), backend.ErrInvalidManifest},
		{"update", 404, words, backend.ErrNotProvisioned},
		{"update", 409, words, backend.ErrInvalidState},
		{"domain", 404, words, backend.ErrNotProvisioned},
		{"domain", 409, words, backend.ErrInvalidState},
		{"domain", 200, "{}", nil},

		{"restore", 400, words, backend.ErrValidation},
		{"restore", 409, words, backend.ErrInvalidState},
		{"restore", 409, "", backend.ErrInvalidState},
		{"restore", 409, code("already_provisioned"), backend.ErrAlreadyProvisioned},
		{"restore", 409, code("from_the_future"), backend.ErrInvalidState},
		{"restore", 422, words, backend.ErrNotRetained},
		{"restore", 422, "", backend.ErrNotRetained},
		{"restore", 422, code("demote_exceeds_tier"), backend.ErrDemoteDataExceedsTier},
		{"restore", 422, code("from_the_future"), backend.ErrRestoreRefused},
		{"restore", 503, words, backend.ErrInsufficientResources},
		{"restore", 404, words, nil},

		{"info", 404, words, backend.ErrNotProvisioned},
		{"info", 400, words, nil},
		{"info", 409, words, nil},
		{"info", 503, words, nil},
		{"provision info", 404, words, backend.ErrNotProvisioned},
		{"logs", 404, words, backend.ErrNotProvisioned},
		{"releases", 404, words, backend.ErrNotProvisioned},
		{"list", 404, words, nil},
		{"list", 503, words, nil},
		{"retentions", 404, words, nil},
		{"stats", 503, words, nil},
		{"health", 503, words, nil},

		// What may have come from something in between says nothing of the lease.
		{"provision", 400, "<html>Bad Request</html>", malformed},
		{"provision", 400, "", malformed},
		{"provision", 400, "{}", malformed},
		{"provision", 400, `{"error":""}`, malformed},
		{"provision", 400, `{"error":7}`, malformed},
		{"provision", 400, `["error"]`, malformed},
		{"provision", 400, `{"error":"half`, malformed},
		{"provision", 400, `{"error":"` + strings.Repeat("x", 5000) + `"}`, malformed},
		{"provision", 400, words + strings.Repeat(" ", 5000), malformed},
		{"provision", 409, "<html>Conflict</html>", malformed},
		{"provision", 409, " ", malformed},
		{"provision", 503, "<html>no server is available</html>", malformed},
		{"provision", 503, "", malformed},
		{"restart", 404, "404 page not found\n", malformed},
		{"restore", 422, "null", malformed},
		{"info", 404, "404 page not found\n", malformed},
		{"info", 404, "", malformed},
		{"info", 400, "<html>Bad Request</html>", malformed},
		{"lookup", 404, "404 page not found\n", malformed},
		{"list", 404, "404 page not found\n", nil},
		{"list", 502, "<html>Bad Gateway</html>", nil},
	}
	for _, tt := range tests {
		t.Run(tt.op+" "+clip(tt.body), func(t *testing.T) {
			metric := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "malformed"}, []string{"backend"})
			c := clientTo(t, saysJSON(tt.status, tt.body), func(cfg *backend.HTTPClientConfig) { cfg.MalformedErrors = metric })
			err := clientOps[tt.op](t.Context(), c)
			if !onlyIs(err, tt.want) {
				t.Fatalf("%d %s is %v, want %v", tt.status, tt.body, err, tt.want)
			}
			isMalformed := errors.Is(tt.want, malformed)
			if got := metricValues(t, metric)["b1"]; (got == 1) != isMalformed {
				t.Errorf("%v malformed bodies are counted", got)
			}
			if isMalformed && tt.body != "" && strings.Contains(err.Error(), strings.TrimSpace(tt.body)) && len(tt.body) > 2 {
				t.Errorf("the error repeats the body: %v", err)
			}
			if strings.Contains(tt.body, "because") && !isMalformed && !strings.Contains(err.Error(), "because") {
				t.Errorf("the error lacks the words of the backend: %v", err)
			}
		})
	}
}

func clip(s string) string { return s[:min(len(s), 40)] }

func TestALookupOfNothingThatIsThereIsEmpty(t *testing.T) {
	c := clientTo(t, saysJSON(404, `{"error":"none of them"}`))
	got, err := c.LookupProvisions(t.Context(), []string{lease1})
	if err != nil || got == nil || len(got) != 0 {
		t.Errorf("the lookup is %v, %v, want an empty list", got, err)
	}
}

func TestTheWordsOfARefusalAreFitForALine(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"what is said twice", `{"error":"validation error: unknown SKU: gold","validation_code":"unknown_sku"}`, "backend b1: provision: validation error: unknown SKU: gold"},
		{"nothing more", `{"error":"validation error: unknown SKU","validation_code":"unknown_sku"}`, "backend b1: provision: validation error: unknown SKU"},
		{"lines and colours", `{"error":"a\nb\u001b[31mc\u0000"}`, "backend b1: provision: validation error: a b [31mc"},
		{"very many", `{"error":"` + strings.Repeat("ü", 600) + `"}`, "backend b1: provision: validation error: " + strings.Repeat("ü", 256) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clientTo(t, saysJSON(400, tt.body))
			if err := clientOps["provision"](t.Context(), c); err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

func TestTheOperatorHearsOfWhatIsNotKnown(t *testing.T) {
	tests := []struct {
		op     string
		status int
		body   string
		want   []string
	}{
		{"restore", 409, `{"error":"x","code":"brand_new"}`, []string{"brand_new", "operation=restore"}},
		{"provision", 400, `{"error":"x","validation_code":"brand_new"}`, []string{"brand_new", "operation=provision"}},
		{"provision", 400, "<html>\nthe proxy says no", []string{"<html> the proxy says no", "status=400"}},
		{"restore", 409, `{"error":"x"}`, nil},
		{"info", 404, `{"error":"x"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.op+" "+clip(tt.body), func(t *testing.T) {
			log, logger := logTo()
			c := clientTo(t, saysJSON(tt.status, tt.body), func(cfg *backend.HTTPClientConfig) { cfg.Logger = logger })
			if err := clientOps[tt.op](t.Context(), c); err == nil {
				t.Fatal("it succeeds")
			}
			if got := log.String(); !hasParts(got, tt.want...) || (tt.want == nil) != (got == "") {
				t.Errorf("the log is %q, want %q in it", got, tt.want)
			}
		})
	}
}
