package instances

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/storage"
)

// claim says to which key a token belongs, and which certificate it was traded for.
// It is written once.
type claim struct {
	InstanceID  string    `json:"instance_id"`
	Tenant      string    `json:"tenant"`
	PublicKey   string    `json:"public_key"` // PKIX, PEM
	Certificate string    `json:"certificate"`
	Serial      string    `json:"serial"`
	ExpiresAt   time.Time `json:"expires_at"`
	ClaimedAt   time.Time `json:"claimed_at"`
	Term        uint64    `json:"term"`
}

func claimKey(tokenHash string) string {
	return claimPrefix + strings.TrimPrefix(tokenHash, hashPrefix) + ".json"
}

// readClaim returns nil when the store says that nobody claimed the token.
func (m *Manager) readClaim(ctx context.Context, tokenHash string) (*claim, error) {
	data, _, err := m.objects.Get(ctx, claimKey(tokenHash))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the claim of a token: %w", err)
	}
	var c claim
	if err := json.Unmarshal(data, &c); err != nil || c.InstanceID == "" || c.PublicKey == "" || c.Serial == "" {
		// Nobody registers by it and nobody is deleted: it may have a certificate that no
		// record knows and that is to be denied.
		return nil, fmt.Errorf("%w: %s: the claim of a token is not readable; restore it, or remove it when it cannot be restored", ErrRecord, claimKey(tokenHash))
	}
	return &c, nil
}

// claimToken binds a token to a key. What comes back is the claim that counts: this one,
// or the one that was first.
func (m *Manager) claimToken(ctx context.Context, tokenHash string, c *claim) (*claim, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	_, err = m.objects.PutIfMatch(ctx, claimKey(tokenHash), data, "")
	if err == nil {
		return c, nil
	}
	if !errors.Is(err, storage.ErrPrecondition) {
		return nil, fmt.Errorf("write the claim of a token: %w", err)
	}
	first, err := m.readClaim(ctx, tokenHash)
	if err == nil && first == nil {
		err = fmt.Errorf("%w: the claim of a token was there and is not", ErrContended)
	}
	return first, err
}

// publicKeyPEM is the one form in which keys are kept and compared.
func publicKeyPEM(key ed25519.PublicKey) (string, error) {
	if len(key) != ed25519.PublicKeySize {
		return "", fmt.Errorf("%w: the key is not one of Ed25519", ErrInvalidRequest)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("%w: the key cannot be written", ErrInvalidRequest)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
}

// parsePublicKeyPEM reads a key and gives it in its one form.
func parsePublicKeyPEM(text string) (string, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return "", fmt.Errorf("%w: the public key is not one in PEM", ErrInvalidRequest)
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return "", fmt.Errorf("%w: the public key is not an Ed25519 key in PKIX", ErrInvalidRequest)
	}
	return publicKeyPEM(key)
}

// fingerprint names a key for people.
func fingerprint(keyPEM string) string {
	sum := sha256.Sum256([]byte(keyPEM))
	return hashPrefix + hex.EncodeToString(sum[:])[:16]
}
