package hmacauth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type vectors struct {
	Secret   string `json:"secret"`
	Unix     int64  `json:"unix"`
	Requests []struct {
		Name       string `json:"name"`
		Method     string `json:"method"`
		RequestURI string `json:"request_uri"`
		Body       string `json:"body"`
		BodySHA256 string `json:"body_sha256"`
		Signature  string `json:"signature"`
	} `json:"requests"`
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Requests) != 2 {
		t.Fatalf("%d vectors, and there are 2", len(v.Requests))
	}
	return v
}

func TestSignaturesAreThoseOfTheProtocol(t *testing.T) {
	v := readVectors(t)
	now := time.Unix(v.Unix, 0)
	key, err := hmacauth.NewKey(v.Secret)
	if err != nil {
		t.Fatal(err)
	}
	verifier := newVerifier(t, hmacauth.Config{Secrets: []string{v.Secret}, Now: func() time.Time { return now }})
	for _, r := range v.Requests {
		t.Run(r.Name, func(t *testing.T) {
			if sum := sha256.Sum256([]byte(r.Body)); hex.EncodeToString(sum[:]) != r.BodySHA256 {
				t.Fatalf("the body of the vector is another one: %x", sum)
			}
			if got := hmacauth.Sign(v.Secret, r.Method, r.RequestURI, []byte(r.Body), now); got != r.Signature {
				t.Errorf("Sign is %s, want %s", got, r.Signature)
			}
			for range 2 { // with a hash that was used already, too
				if got := key.Sign(r.Method, r.RequestURI, []byte(r.Body), now); got != r.Signature {
					t.Errorf("the key signs %s, want %s", got, r.Signature)
				}
			}
			if err := verifier.Verify(r.Method, r.RequestURI, []byte(r.Body), r.Signature); err != nil {
				t.Errorf("the signature is refused: %v", err)
			}
		})
	}
}

func newVerifier(t *testing.T, cfg hmacauth.Config) *hmacauth.Verifier {
	t.Helper()
	v, err := hmacauth.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
