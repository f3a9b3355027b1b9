package backend_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/berth-cloud/berth/backend"
)

// BenchmarkHTTPClient is a signed call to a handler that does nothing.
func BenchmarkHTTPClient(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"provision_id":"` + lease1 + `"}`))
			return
		}
		_, _ = w.Write([]byte(`{"host":"192.0.2.1"}`))
	}))
	defer srv.Close()
	c := backend.NewHTTPClient(backend.HTTPClientConfig{BaseURL: srv.URL, Secret: clientSecret})
	defer c.Close()
	b.Run("Provision", func(b *testing.B) {
		b.ReportAllocs()
		req := backend.ProvisionRequest{LeaseUUID: lease1, Items: []backend.LeaseItem{{SKU: "s", Quantity: 1}}, Payload: make([]byte, 512)}
		for b.Loop() {
			if err := c.Provision(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("GetInfo", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.GetInfo(b.Context(), lease1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
