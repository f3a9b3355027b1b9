package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/server"
)

// overTheWire is a client of a server of the backend.
func overTheWire(t *testing.T, b backend.Backend, adjust ...func(*backend.HTTPClientConfig)) *backend.HTTPClient {
	t.Helper()
	srv := httptest.NewServer(server.New(b, server.Config{Unsigned: true}))
	t.Cleanup(srv.Close)
	cfg := backend.HTTPClientConfig{Name: "b1", BaseURL: srv.URL, CBFailureThresh: 1000}
	for _, a := range adjust {
		a(&cfg)
	}
	c := backend.NewHTTPClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// wireCalls are the calls of a client, each well formed.
var wireCalls = map[string]func(context.Context, *backend.HTTPClient) error{
	"provision": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Provision(ctx, backend.ProvisionRequest{LeaseUUID: lease1, CallbackURL: "http://holder/cb", Items: []backend.LeaseItem{{SKU: "s", Quantity: 1}}})
	},
	"restart": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Restart(ctx, backend.RestartRequest{LeaseUUID: lease1, CallbackURL: "http://holder/cb"})
	},
	"update": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Update(ctx, backend.UpdateRequest{LeaseUUID: lease1, CallbackURL: "http://holder/cb", Payload: []byte("{}")})
	},
	"restore": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.Restore(ctx, backend.RestoreRequest{
			LeaseUUID: lease1, FromLeaseUUID: lease2, CallbackURL: "http://holder/cb", Items: []backend.LeaseItem{{SKU: "s", Quantity: 1}},
		})
	},
	"domain": func(ctx context.Context, c *backend.HTTPClient) error {
		return c.ReconcileCustomDomain(ctx, lease1, []backend.LeaseItem{{SKU: "s", Quantity: 1}})
	},
	"info": func(ctx context.Context, c *backend.HTTPClient) error { _, err := c.GetInfo(ctx, lease1); return err },
	"get": func(ctx context.Context, c *backend.HTTPClient) error {
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
}

// What a backend says with an error of the contract its holder hears: the kind, and
// the words where they are for him.
func TestEveryErrorOfTheContractPassesTheWire(t *testing.T) {
	const words = "40 GB are kept, and the tier has 20 GB"
	for _, c := range []struct {
		err   error
		on    string // calls that may have it
		words bool
	}{
		{backend.ErrValidation, "provision restart update restore domain", true},
		{backend.ErrUnknownSKU, "provision restart update restore domain", true},
		{backend.ErrInvalidManifest, "provision restart update restore domain", true},
		{backend.ErrImageNotAllowed, "provision restart update restore domain", true},
		{backend.ErrNotProvisioned, "restart update domain info get logs releases", false},
		{backend.ErrAlreadyProvisioned, "provision restore", false},
		{backend.ErrInvalidState, "restart update restore domain", true},
		{backend.ErrInsufficientResources, "provision restore", true},
		{backend.ErrNotRetained, "restore", false},
		{backend.ErrDemoteDataExceedsTier, "restore", true},
		{backend.ErrRestoreRefused, "restore", true},
	} {
		malformed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "malformed_total"}, []string{"backend"})
		client := overTheWire(t, &scripted{err: fmt.Errorf("%w: %s", c.err, words)}, func(cfg *backend.HTTPClientConfig) { cfg.MalformedErrors = malformed })
		for call, do := range wireCalls {
			may := strings.Contains(" "+c.on+" ", " "+call+" ")
			err := do(t.Context(), client)
			if err == nil || errors.Is(err, c.err) != may {
				t.Errorf("%s with %q is %v", call, c.err, err)
			}
			if may && c.words != strings.Contains(err.Error(), words) {
				t.Errorf("%s with %q says %q", call, c.err, err)
			}
			if backend.ClassifyValidationError(err) != backend.ClassifyValidationError(c.err) && may {
				t.Errorf("%s with %q has the code %q", call, c.err, backend.ClassifyValidationError(err))
			}
		}
		collected := make(chan prometheus.Metric, 1)
		malformed.Collect(collected)
		if len(collected) > 0 {
			t.Errorf("an answer with %q counts as malformed", c.err)
		}
	}
}

// A page of a proxy in front of a backend is nobody's fault: the holder asks again.
func TestAPageOfAProxyIsNoAnswerOfABackend(t *testing.T) {
	for _, status := range []int{400, 404, 409, 422, 502, 503} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			fmt.Fprint(w, "<html><h1>something is wrong</h1></html>")
		}))
		client := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "b1", BaseURL: proxy.URL, CBFailureThresh: 1000})
		for call, do := range wireCalls {
			err := do(t.Context(), client)
			for _, kind := range []error{
				backend.ErrValidation, backend.ErrNotProvisioned, backend.ErrAlreadyProvisioned, backend.ErrInvalidState, backend.ErrInsufficientResources,
				backend.ErrNotRetained, backend.ErrDemoteDataExceedsTier, backend.ErrRestoreRefused,
			} {
				if errors.Is(err, kind) {
					t.Errorf("%s answered with a page and %d is %v", call, status, err)
				}
			}
			if err == nil || strings.Contains(err.Error(), "html") {
				t.Errorf("%s answered with a page and %d is %v", call, status, err)
			}
		}
		client.Close()
		proxy.Close()
	}
}

// A list is walked from page to page, whatever the client and the server take for one.
func TestAListIsWholeOverTheWire(t *testing.T) {
	b := &scripted{}
	for i := range 25 {
		id := fmt.Sprintf("018f3c1e-7b2a-7c4d-9e5f-%012d", 25-i)
		b.provisions = append(b.provisions, backend.ProvisionInfo{LeaseUUID: id})
		b.retentions = append(b.retentions, backend.RetainedLease{LeaseUUID: id})
	}
	for _, limit := range []int{1, 5, 24, 25, 26, 9000} {
		c := overTheWire(t, b, func(cfg *backend.HTTPClientConfig) { cfg.ProvisionsPageLimit = limit })
		all, err := c.ListProvisions(t.Context())
		kept, err2 := c.ListRetentions(t.Context())
		if err != nil || err2 != nil || len(all) != 25 || len(kept) != 25 || all[0].LeaseUUID != b.provisions[24].LeaseUUID || kept[24].LeaseUUID != b.retentions[0].LeaseUUID {
			t.Errorf("by %d: %d and %d, %v, %v", limit, len(all), len(kept), err, err2)
		}
	}
}
