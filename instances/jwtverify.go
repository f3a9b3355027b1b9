package instances

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/berth-cloud/berth/id"
)

// JWTVerifier reads tokens that the signer of the same key made for one shard.
type JWTVerifier struct {
	// Key is the public half of the signer's.
	Key ed25519.PublicKey
	// ClusterID and Shard are those that a token has to be for.
	ClusterID, Shard string
	// Leeway is by how much the clocks of servers may differ.
	Leeway time.Duration
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Verify reads a token of a kind. Errors: ErrTokenInvalid, ErrTokenExpired,
// ErrTokenNotYetValid, ErrWrongCluster, ErrWrongShard; none has the token in it.
func (v JWTVerifier) Verify(token, kind string) (*RegistrationNonceClaims, error) {
	if len(token) > maxTokenBytes {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrTokenInvalid, maxTokenBytes)
	}
	now := v.Now
	if now == nil {
		now = time.Now
	}
	var claims RegistrationNonceClaims
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithNotBeforeRequired(),
		jwt.WithIssuer(Issuer), jwt.WithLeeway(v.Leeway), jwt.WithTimeFunc(now),
	)
	_, err := parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) {
		if len(v.Key) != ed25519.PublicKeySize {
			return nil, errors.New("no key")
		}
		return v.Key, nil
	})
	switch {
	case err == nil:
	case errors.Is(err, jwt.ErrTokenExpired):
		return nil, ErrTokenExpired
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return nil, ErrTokenNotYetValid
	default:
		// The library's texts may repeat parts of the token.
		return nil, ErrTokenInvalid
	}
	if err := v.check(&claims, kind); err != nil {
		return nil, err
	}
	return &claims, nil
}

func (v JWTVerifier) check(c *RegistrationNonceClaims, kind string) error {
	switch {
	case c.Kind != kind:
		return fmt.Errorf("%w: it is not one of kind %s", ErrTokenInvalid, kind)
	case c.ClusterID != v.ClusterID:
		return ErrWrongCluster
	case c.Shard != v.Shard && (kind == TokenKindAgent || c.Shard != ""):
		return ErrWrongShard
	case c.Tenant == "" || c.Sub == "":
		return fmt.Errorf("%w: it names no tenant or no subject", ErrTokenInvalid)
	}
	if kind == TokenKindAgent {
		if _, err := id.Parse(c.Sub); err != nil {
			return fmt.Errorf("%w: its subject is no instance", ErrTokenInvalid)
		}
	}
	return nil
}
