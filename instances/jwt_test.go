package instances_test

import (
	"errors"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
)

func nonce() instances.RegistrationNonceParams {
	return instances.RegistrationNonceParams{
		SubjectID: "knc06bgm7733st2576nx5jht4ecjw", Kind: instances.TokenKindAgent, ConfigHash: "sha256:1", ClusterID: "prod",
		Shard: "one", Group: "web", OnDemand: true, Expiry: time.Hour, Tenant: "acme", IssuedAt: time.Unix(1_700_000_000, 5),
	}
}

func TestATokenIsTheSameForTheSameInputs(t *testing.T) {
	key := newKey(t)
	first, err := instances.NewJWTSigner(key).GenerateRegistrationNonce(nonce())
	must(t, err)
	second, err := instances.NewJWTSigner(key).GenerateRegistrationNonce(nonce())
	must(t, err)
	other := nonce()
	other.Tenant = "other"
	third, err := instances.NewJWTSigner(key).GenerateRegistrationNonce(other)
	must(t, err)
	if first != second || first == third {
		t.Fatal("tokens do not follow from their inputs alone")
	}
	claims, err := instances.JWTVerifier{
		Key: public(key), ClusterID: "prod", Shard: "one", Now: func() time.Time { return time.Unix(1_700_000_100, 0) },
	}.Verify(first, instances.TokenKindAgent)
	must(t, err)
	if claims.Sub != nonce().SubjectID || claims.Tenant != "acme" || claims.Group != "web" || !claims.OnDemand ||
		claims.ConfigHash != "sha256:1" || claims.Issuer != instances.Issuer || claims.ExpiresAt.Unix() != 1_700_003_600 {
		t.Fatalf("claims %+v", claims)
	}
}

func TestTheTokenOfAnOperatorIsMintedAndChecked(t *testing.T) {
	key := newKey(t)
	p := nonce()
	p.Kind, p.SubjectID, p.Shard, p.Group, p.IssuedAt = instances.TokenKindOperator, "prod", "", "", time.Time{}
	token, err := instances.NewJWTSigner(key).GenerateRegistrationNonce(p)
	must(t, err)
	v := instances.JWTVerifier{Key: public(key), ClusterID: "prod", Shard: "one"}
	_, err = v.Verify(token, instances.TokenKindOperator)
	must(t, err)
	_, err = v.Verify(token, instances.TokenKindAgent)
	mustBe(t, err, instances.ErrTokenInvalid)
}

func TestATokenThatNobodyWouldTakeIsNotMade(t *testing.T) {
	for name, change := range map[string]func(*instances.RegistrationNonceParams){
		"no subject":  func(p *instances.RegistrationNonceParams) { p.SubjectID = "" },
		"no tenant":   func(p *instances.RegistrationNonceParams) { p.Tenant = "" },
		"no cluster":  func(p *instances.RegistrationNonceParams) { p.ClusterID = "" },
		"no shard":    func(p *instances.RegistrationNonceParams) { p.Shard = "" },
		"no kind":     func(p *instances.RegistrationNonceParams) { p.Kind = "" },
		"no life":     func(p *instances.RegistrationNonceParams) { p.Expiry = 0 },
		"a long life": func(p *instances.RegistrationNonceParams) { p.Expiry = 8 * 24 * time.Hour },
	} {
		p := nonce()
		change(&p)
		if _, err := instances.NewJWTSigner(newKey(t)).GenerateRegistrationNonce(p); !errors.Is(err, instances.ErrInvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
