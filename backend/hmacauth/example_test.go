package hmacauth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

func Example() {
	const secret = "0123456789abcdef0123456789abcdef"
	clock := func() time.Time { return time.Unix(1767225600, 0) }

	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}, Now: clock})
	if err != nil {
		panic(err)
	}
	handler := verifier.Middleware(2<<20, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "welcome")
	}))

	body := `{"lease_uuid":"018f3c1e-7b2a-7c4d-9e5f-0123456789ab"}`
	for _, path := range []string{"/restart", "/deprovision"} {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set(hmacauth.Header, hmacauth.Sign(secret, "POST", "/restart", []byte(body), clock()))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(path, w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// /restart 200 welcome
	// /deprovision 401 {"error":"invalid signature"}
}
