package hmacauth_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hmacauth"
)

const (
	secretA = "a-secret-of-the-tests-0123456789abcdef"
	secretB = "b-secret-of-the-tests-0123456789abcdef"
)

var now = time.Unix(1_800_000_000, 0)

func clock() time.Time { return now }

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	body := []byte(`{"lease_uuid":"x"}`)
	good := hmacauth.Sign(secretA, "POST", "/update", body, now)
	sum := good[strings.IndexByte(good, ',')+1:]
	at := func(d time.Duration) string {
		return hmacauth.Sign(secretA, "POST", "/update", body, now.Add(d))
	}
	tests := []struct {
		name   string
		header string
		want   error
	}{
		{"as it was signed", good, nil},
		{"with spaces", "  " + strings.Replace(good, ",", " ,  ", 1) + " ", nil},
		{"with capital hex digits", strings.Replace(good, sum, "sha256="+strings.ToUpper(sum[7:]), 1), nil},
		{"five minutes old", at(-5 * time.Minute), nil},
		{"older", at(-5*time.Minute - time.Second), hmacauth.ErrStale},
		{"a minute ahead", at(time.Minute), nil},
		{"further ahead", at(time.Minute + time.Second), hmacauth.ErrFuture},
		{"the earliest time there is", "t=-9223372036854775808," + sum, hmacauth.ErrStale},
		{"the last time there is", "t=9223372036854775807," + sum, hmacauth.ErrFuture},
		{"of another secret", hmacauth.Sign(secretB, "POST", "/update", body, now), hmacauth.ErrWrong},
		{"of another method", hmacauth.Sign(secretA, "PUT", "/update", body, now), hmacauth.ErrWrong},
		{"of a method in small letters", hmacauth.Sign(secretA, "post", "/update", body, now), hmacauth.ErrWrong},
		{"of another path", hmacauth.Sign(secretA, "POST", "/deprovision", body, now), hmacauth.ErrWrong},
		{"of another query", hmacauth.Sign(secretA, "POST", "/update?x=1", body, now), hmacauth.ErrWrong},
		{"of another body", hmacauth.Sign(secretA, "POST", "/update", nil, now), hmacauth.ErrWrong},
		{"of another time", "t=" + strconv.FormatInt(now.Unix()-1, 10) + "," + sum, hmacauth.ErrWrong},
		{"none", "", hmacauth.ErrMissing},
		{"words", "let me in", hmacauth.ErrMalformed},
		{"without a time", sum, hmacauth.ErrMalformed},
		{"without a sum", good[:strings.IndexByte(good, ',')], hmacauth.ErrMalformed},
		{"the wrong way around", sum + "," + good[:strings.IndexByte(good, ',')], hmacauth.ErrMalformed},
		{"with a time of letters", "t=now," + sum, hmacauth.ErrMalformed},
		{"with a time beyond int64", "t=9223372036854775808," + sum, hmacauth.ErrMalformed},
		{"with a space in the time", "t= 1," + sum, hmacauth.ErrMalformed},
		{"with a sum that is not hex", good[:len(good)-1] + "g", hmacauth.ErrMalformed},
		{"with a short sum", good[:len(good)-2], hmacauth.ErrMalformed},
		{"with a long sum", good + "00", hmacauth.ErrMalformed},
		{"with a third field", good + ",x=1", hmacauth.ErrMalformed},
	}
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := v.Verify("POST", "/update", body, tt.header)
			if !errors.Is(err, tt.want) {
				t.Errorf("Verify is %v, want %v", err, tt.want)
			}
		})
	}
}

func TestAStaleSignatureIsToldTheTimeHere(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, Now: clock})
	err := v.Verify("GET", "/", nil, hmacauth.Sign(secretA, "GET", "/", nil, now.Add(-time.Hour)))
	if !errors.Is(err, hmacauth.ErrStale) || !strings.Contains(err.Error(), "1800000000 (2027-01-15T08:00:00Z)") {
		t.Errorf("%v does not say what time it is here", err)
	}
}

func TestEitherOfTwoSecretsIsGood(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA, secretB}, Now: clock})
	for _, secret := range []string{secretA, secretB} {
		if err := v.Verify("GET", "/stats", nil, hmacauth.Sign(secret, "GET", "/stats", nil, now)); err != nil {
			t.Errorf("the signature of %s is refused: %v", secret[:1], err)
		}
	}
	third := strings.Repeat("c", hmacauth.MinSecretLength)
	err := v.Verify("GET", "/stats", nil, hmacauth.Sign(third, "GET", "/stats", nil, now))
	if !errors.Is(err, hmacauth.ErrWrong) {
		t.Errorf("the signature of a third secret is %v, want %v", err, hmacauth.ErrWrong)
	}
}

func TestThePrefixStandsForWhatAProxyStripped(t *testing.T) {
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "/fred", Now: clock})
	signed := hmacauth.Sign(secretA, "POST", "/fred/callbacks/provision", nil, now)
	if err := v.Verify("POST", "/callbacks/provision", nil, signed); err != nil {
		t.Errorf("the sender's path is refused: %v", err)
	}
	bare := hmacauth.Sign(secretA, "POST", "/callbacks/provision", nil, now)
	if err := v.Verify("POST", "/callbacks/provision", nil, bare); !errors.Is(err, hmacauth.ErrWrong) {
		t.Errorf("the stripped path is %v, want %v", err, hmacauth.ErrWrong)
	}
}

func TestNewVerifierRefusesWhatCannotBeRight(t *testing.T) {
	tests := []struct {
		name string
		cfg  hmacauth.Config
		ok   bool
	}{
		{"no secret", hmacauth.Config{}, false},
		{"three secrets", hmacauth.Config{Secrets: []string{secretA, secretB, secretA + "x"}}, false},
		{"a secret of 31 bytes", hmacauth.Config{Secrets: []string{strings.Repeat("s", 31)}}, false},
		{"a second secret of 31 bytes", hmacauth.Config{Secrets: []string{secretA, strings.Repeat("s", 31)}}, false},
		{"a secret of 32 bytes", hmacauth.Config{Secrets: []string{strings.Repeat("s", 32)}}, true},
		{"a prefix without a slash", hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "fred"}, false},
		{"a prefix with a slash at its end", hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "/fred/"}, false},
		{"a prefix that is a slash", hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "/"}, false},
		{"a prefix", hmacauth.Config{Secrets: []string{secretA}, PathPrefix: "/a/b"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hmacauth.NewVerifier(tt.cfg)
			if (err == nil) != tt.ok {
				t.Fatalf("NewVerifier is %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "ssss") {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
}

func TestAKeyDoesNotPrintItsSecret(t *testing.T) {
	key, err := hmacauth.NewKey(secretA)
	if err != nil {
		t.Fatal(err)
	}
	key.Sign("GET", "/", nil, now)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, key); got != "[redacted]" {
			t.Errorf("%s prints %q", verb, got)
		}
	}
}

func TestManyMaySignAtOnce(t *testing.T) {
	key, err := hmacauth.NewKey(secretA)
	if err != nil {
		t.Fatal(err)
	}
	v := newVerifier(t, hmacauth.Config{Secrets: []string{secretB, secretA}, Now: clock})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				uri, body := fmt.Sprintf("/info/%d?n=%d", i, j), fmt.Append(nil, i, j)
				if err := v.Verify("GET", uri, body, key.Sign("GET", uri, body, now)); err != nil {
					t.Errorf("%s: %v", uri, err)
				}
			}
		})
	}
	wg.Wait()
}

// A signature is made for every request, so its cost is the header alone.
func TestAKeySignsInTwoAllocations(t *testing.T) {
	key, err := hmacauth.NewKey(secretA)
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 1<<10)
	key.Sign("POST", "/provision", body, now)
	if got := testing.AllocsPerRun(100, func() { key.Sign("POST", "/provision", body, now) }); got > 2 && !raceEnabled {
		t.Errorf("%v allocations, want at most 2", got)
	}
}

func BenchmarkVerify(b *testing.B) {
	body := make([]byte, 1<<10)
	header := hmacauth.Sign(secretA, "POST", "/provision", body, now)
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secretB, secretA}, Now: clock})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Verify("POST", "/provision", body, header); err != nil {
			b.Fatal(err)
		}
	}
}
