package instances

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Issuer is in every token.
const Issuer = "berth-server"

// The kinds of tokens.
const (
	TokenKindAgent    = "agent"
	TokenKindOperator = "operator"
)

const (
	// maxTokenBytes bounds what is read as a token.
	maxTokenBytes = 8 << 10
	// maxTokenLife bounds a token that is made.
	maxTokenLife = 7 * 24 * time.Hour
)

// RegistrationNonceParams contains parameters for generating a registration nonce JWT.
type RegistrationNonceParams struct {
	SubjectID  string        // Instance ID or cluster ID
	Kind       string        // "agent" or "operator"
	ConfigHash string        // Group runtime config hash at provision time
	ClusterID  string        // Cluster ID
	Shard      string        // Shard/zone
	Group      string        // Group key (empty for operator)
	OnDemand   bool          // Is on-demand instance
	Expiry     time.Duration // From IssuedAt; more than 0, at most 168 h
	Tenant     string        // Tenant identifier (required)

	// IssuedAt is when its life begins: for a machine the creation of its record, so
	// that the token can be made again, byte for byte. Zero is now.
	IssuedAt time.Time
	// Skew is by how much clocks may differ: it is valid that much earlier.
	Skew time.Duration
}

// RegistrationNonceClaims represents the claims in a registration nonce JWT.
type RegistrationNonceClaims struct {
	jwt.RegisteredClaims
	Kind       string `json:"kind"`        // "agent" or "operator"
	Sub        string `json:"sub"`         // instance ID or cluster ID
	ConfigHash string `json:"config_hash"` // group runtime config hash at provision time
	ClusterID  string `json:"cluster_id"`  // cluster ID
	Shard      string `json:"shard"`       // shard/zone
	Group      string `json:"group"`       // group key
	OnDemand   bool   `json:"on_demand"`   // is on-demand instance
	Tenant     string `json:"tenant"`      // tenant identifier
}

// JWTSigner handles signing of registration nonce JWTs. It is safe for concurrent use.
type JWTSigner struct {
	key ed25519.PrivateKey
	now func() time.Time
}

// NewJWTSigner creates a new JWT signer, with the system's clock for tokens without an
// IssuedAt.
func NewJWTSigner(privateKey ed25519.PrivateKey) *JWTSigner {
	return &JWTSigner{key: privateKey, now: time.Now}
}

// GenerateRegistrationNonce generates a registration nonce JWT for the given
// instance/cluster. The same parameters, with an IssuedAt, give the same bytes.
// Parameters that no verifier would take are ErrInvalidRequest.
func (s *JWTSigner) GenerateRegistrationNonce(params RegistrationNonceParams) (string, error) {
	if err := params.check(); err != nil {
		return "", err
	}
	if len(s.key) != ed25519.PrivateKeySize {
		return "", errors.New("sign a token: the key is not one of Ed25519")
	}
	issued := params.IssuedAt
	if issued.IsZero() {
		issued = s.now()
	}
	issued = issued.UTC().Truncate(time.Second)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, RegistrationNonceClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    Issuer,
			IssuedAt:  jwt.NewNumericDate(issued),
			NotBefore: jwt.NewNumericDate(issued.Add(-params.Skew)),
			ExpiresAt: jwt.NewNumericDate(issued.Add(params.Expiry)),
		},
		Kind: params.Kind, Sub: params.SubjectID, ConfigHash: params.ConfigHash,
		ClusterID: params.ClusterID, Shard: params.Shard, Group: params.Group,
		OnDemand: params.OnDemand, Tenant: params.Tenant,
	})
	signed, err := token.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

func (p RegistrationNonceParams) check() error {
	for _, word := range []struct{ what, value string }{
		{"subject", p.SubjectID}, {"cluster", p.ClusterID}, {"tenant", p.Tenant},
	} {
		if word.value == "" {
			return fmt.Errorf("%w: a token needs a %s", ErrInvalidRequest, word.what)
		}
	}
	switch {
	case p.Kind != TokenKindAgent && p.Kind != TokenKindOperator:
		return fmt.Errorf("%w: a token is of kind %q or %q, not %q", ErrInvalidRequest, TokenKindAgent, TokenKindOperator, clip(p.Kind))
	case p.Expiry < time.Second || p.Expiry > maxTokenLife:
		return fmt.Errorf("%w: a token lives from 1 s to %v, not %v", ErrInvalidRequest, maxTokenLife, p.Expiry)
	case p.Skew < 0:
		return fmt.Errorf("%w: a skew of %v", ErrInvalidRequest, p.Skew)
	case p.Kind == TokenKindAgent && p.Shard == "":
		return fmt.Errorf("%w: the token of an agent needs a shard", ErrInvalidRequest)
	}
	return nil
}

// hashPrefix begins what stands in registration_jwt of a record.
const hashPrefix = "sha256:"

// TokenHash is what is kept of a token: "sha256:" and the hash in hexadecimal.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashPrefix + hex.EncodeToString(sum[:])
}
