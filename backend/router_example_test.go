package backend_test

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/backend"
)

// Two backends take one SKU, and a third what nobody else does.
func ExampleRouter() {
	mock := func(name string, allocated float64) *backend.MockBackend {
		m := backend.NewMockBackend(backend.MockBackendConfig{Name: name})
		m.SetLoadStats(&backend.LoadStats{TotalCPUCores: 8, AllocatedCPUCores: allocated})
		return m
	}
	small := backend.MatchCriteria{SKUs: []string{"a1b2c3d4-e5f6-7890-abcd-1234567890ab"}}
	router, err := backend.NewRouter(backend.RouterConfig{Backends: []backend.BackendEntry{
		{Backend: mock("docker-1", 6), Match: small},
		{Backend: mock("docker-2", 2), Match: small},
		{Backend: mock("other", 0), IsDefault: true},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, req := context.Background(), backend.ProvisionRequest{Items: []backend.LeaseItem{{SKU: small.SKUs[0], Quantity: 1}}}
	fmt.Println("a new lease goes to", router.RouteForProvision(ctx, req.RoutingSKU(), nil).Name())
	fmt.Println("of another SKU to", router.RouteForProvision(ctx, "gpu", nil).Name())
	// Output:
	// a new lease goes to docker-2
	// of another SKU to other
}

// A mock stands in for a backend, and tells of each lease that has come to be ready.
func ExampleMockBackend() {
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock"})
	told := make(chan backend.CallbackPayload, 1)
	mock.SetCallbackFunc(func(p backend.CallbackPayload) { told <- p })

	ctx, lease := context.Background(), "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	if err := mock.Provision(ctx, backend.ProvisionRequest{LeaseUUID: lease}); err != nil {
		fmt.Println(err)
		return
	}
	p := <-told
	info, err := mock.GetInfo(ctx, p.LeaseUUID)
	fmt.Println(p.Status, info.Host, err)
	// Output: success 127.0.0.1 <nil>
}
