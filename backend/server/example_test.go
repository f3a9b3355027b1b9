package server_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

func Example() {
	const secret = "0123456789abcdef0123456789abcdef"
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		panic(err)
	}
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock"})
	srv := httptest.NewServer(server.New(mock, server.Config{Auth: verifier}))
	defer srv.Close()

	client := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "mock", BaseURL: srv.URL, Secret: secret})
	defer client.Close()
	ctx := context.Background()
	req := backend.ProvisionRequest{
		LeaseUUID:   "018f3c1e-7b2a-7c4d-9e5f-0123456789ab",
		Items:       []backend.LeaseItem{{SKU: "small", Quantity: 1}},
		CallbackURL: "http://holder.example/callbacks/provision",
	}
	fmt.Println(client.Provision(ctx, req))
	all, err := client.ListProvisions(ctx)
	fmt.Println(len(all), all[0].Items[0].ServiceName, err)
	// Output:
	// <nil>
	// 1 app <nil>
}
