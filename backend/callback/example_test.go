package callback_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
)

func Example() {
	const secret, path = "0123456789abcdef0123456789abcdef", "/callbacks/provision"
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		panic(err)
	}
	stream := callback.NewStream()
	defer stream.Close()
	watcher, err := stream.Subscribe("018f3c1e-7b2a-7c4d-9e5f-0123456789ab")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, callback.NewReceiver(callback.Config{
		Auth: verifier,
		Deliver: func(_ context.Context, p backend.CallbackPayload) error {
			if event, ok := callback.EventOf(p, time.Now()); ok {
				stream.Publish(event)
			}
			return nil
		},
	}))

	body := `{"lease_uuid":"018f3c1e-7b2a-7c4d-9e5f-0123456789ab","status":"success"}`
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Header.Set(hmacauth.Header, hmacauth.Sign(secret, http.MethodPost, path, []byte(body), time.Now()))
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, req)
	fmt.Println(rec.Code, (<-watcher.Events()).Status)
	// Output: 200 ready
}
