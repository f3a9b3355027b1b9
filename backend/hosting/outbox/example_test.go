package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/provider"
)

func Example() {
	key, err := hmacauth.NewKey("0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	now := time.Unix(1767225600, 0)
	answers := []int{503, 200}
	holder := &http.Client{Transport: wire(func(*http.Request) (*http.Response, error) {
		code := answers[0]
		answers = answers[1:]
		fmt.Println("the holder answers", code)
		return reply(code, ""), nil
	})}
	o, err := outbox.New(outbox.Config{
		Store: provider.NewMemoryStore(), Prefix: "backend/callbacks", Key: key, Client: holder, // of package egress
		Now: func() time.Time { return now }, Rand: func() float64 { return 0 },
	})
	if err != nil {
		panic(err)
	}

	ctx, lease := context.Background(), "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	err = o.Add(ctx, lease, "https://holder.example/callbacks/provision", "provision-1",
		backend.CallbackPayload{Status: backend.CallbackStatusSuccess, Backend: "docker-1"})
	if err != nil {
		panic(err)
	}
	for {
		again, err := o.Step(ctx, lease)
		fmt.Println("again in", again, err)
		if again == 0 {
			break
		}
		now = now.Add(again) // or a timer
	}
	// Output:
	// the holder answers 503
	// again in 2s <nil>
	// the holder answers 200
	// again in 0s <nil>
}
