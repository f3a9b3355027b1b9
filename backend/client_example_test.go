package backend_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/berth-cloud/berth/backend"
)

func ExampleHTTPClient() {
	// Somebody else's backend, with no room left.
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/provision" {
			fmt.Fprint(w, `{"provisions":[]}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":"2 CPUs are left, and 4 are asked for"}`)
	}))
	defer srv.Close()

	client := backend.NewHTTPClient(backend.HTTPClientConfig{
		Name:    "docker-1",
		BaseURL: srv.URL,
		Secret:  "0123456789abcdef0123456789abcdef",
	})
	defer client.Close()

	err := client.Provision(context.Background(), backend.ProvisionRequest{
		LeaseUUID:   "018f3c1e-7b2a-7c4d-9e5f-0123456789ab",
		Tenant:      "acme",
		Items:       []backend.LeaseItem{{SKU: "docker-large", Quantity: 2}},
		CallbackURL: "https://holder.example/callbacks/provision",
	})
	fmt.Println(errors.Is(err, backend.ErrInsufficientResources))
	fmt.Println(err)

	all, err := client.ListProvisions(context.Background())
	fmt.Println(len(all), err)
	// Output:
	// true
	// backend docker-1: provision: insufficient resources: 2 CPUs are left, and 4 are asked for
	// 0 <nil>
}
