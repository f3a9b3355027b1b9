package backendtest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
)

// A test of something that stands on a backend keeps the callbacks, and waits for one
// within a bound.
func ExampleCallbacks() {
	const lease = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	calls := new(backendtest.Callbacks)
	mock := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock", ProvisionDelay: time.Millisecond})
	mock.SetCallbackFunc(calls.Record)

	err := mock.Provision(context.Background(), backend.ProvisionRequest{LeaseUUID: lease})
	wait := backendtest.Poll(time.Millisecond, 10*time.Second)
	fmt.Println(err, wait(func() bool { return len(calls.Of(lease)) == 1 }))
	fmt.Println(calls.Of(lease)[0].Status)
	// Output:
	// <nil> true
	// success
}

// Whoever writes a backend sees beforehand what is asked of it, and what a case needs.
func ExampleCases() {
	for _, c := range backendtest.Cases() {
		if strings.HasPrefix(c.Name, "Logs/") || strings.HasPrefix(c.Name, "Load/") {
			fmt.Println(c.Name, c.Needs)
		}
	}
	// Output:
	// Logs/ByContainer [logs]
	// Logs/Tail [logs]
	// Load/CountsWhatIsThere [load]
	// Load/RefusedTakesNothing [load validation]
}
