package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

const secret = "0123456789abcdef0123456789abcdef"

func TestOnlyASignedRequestReachesTheBackend(t *testing.T) {
	now := time.Unix(1767225600, 0)
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		sign := func(secret, target string, at time.Time) string {
			return hmacauth.Sign(secret, r.method, target, []byte(r.body), at)
		}
		for name, c := range map[string]struct {
			header string
			code   int
		}{
			"signed":               {sign(secret, r.target, now), 0},
			"not signed":           {"", 401},
			"signed long ago":      {sign(secret, r.target, now.Add(-6*time.Minute)), 401},
			"signed by another":    {sign(secret+"x", r.target, now), 401},
			"signed for elsewhere": {sign(secret, "/elsewhere", now), 401},
		} {
			b := three()
			h := server.New(b, server.Config{Auth: verifier})
			req := httptest.NewRequest(r.method, r.target, strings.NewReader(r.body))
			req.Header.Set(hmacauth.Header, c.header)
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			passes := c.code == 0 || r.open
			if passes != (rec.Code < 300) || !passes && rec.Code != c.code || passes != (b.last() != nil) {
				t.Errorf("%s, %s, is answered with %d %s", r.name, name, rec.Code, rec.Body)
			}
			if ct := rec.Header().Get("Content-Type"); rec.Body.Len() > 0 && ct != "application/json" {
				t.Errorf("%s, %s, is answered with the type %q", r.name, name, ct)
			}
		}
	}
}

func TestASignedBodyIsBounded(t *testing.T) {
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	b := &scripted{}
	h := server.New(b, server.Config{Auth: verifier, MaxBodyBytes: int64(len(okRestart))})
	for body, code := range map[string]int{okRestart: 202, okRestart + " ": 413} {
		req := httptest.NewRequest("POST", "/restart", strings.NewReader(body))
		req.Header.Set(hmacauth.Header, hmacauth.Sign(secret, "POST", "/restart", []byte(body), time.Now()))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != code {
			t.Errorf("%d bytes are answered with %d %s, want %d", len(body), rec.Code, rec.Body, code)
		}
	}
}
