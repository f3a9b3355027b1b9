package wire

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"time"
)

// Paths and bounds of registration over HTTPS.
const (
	RegisterPath = "/v1/register"
	RenewPath    = "/v1/renew"
	// MaxBody bounds a request and an answer, in bytes.
	MaxBody = 64 << 10
)

// RegisterRequest trades a token for a certificate.
type RegisterRequest struct {
	Token        string `json:"token"`
	PublicKeyPEM string `json:"public_key_pem"` // PKIX, Ed25519
	Proof        []byte `json:"proof"`          // see ProofText; base64 on the wire
	PrivateIPv4  string `json:"private_ipv4,omitempty"`
	PrivateIPv6  string `json:"private_ipv6,omitempty"`
	Hostname     string `json:"hostname,omitempty"`
}

// Registration answers a registration and a renewal.
type Registration struct {
	InstanceID     string    `json:"instance_id"`
	CertificatePEM string    `json:"certificate_pem"`
	CAPEM          string    `json:"ca_pem"` // one certificate or, while they change, more
	ExpiresAt      time.Time `json:"expires_at"`
}

// Problem is every other answer.
type Problem struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// Codes of Problem and Refused.
const (
	CodeTokenInvalid     = "token_invalid"
	CodeTokenExpired     = "token_expired"
	CodeTokenNotYetValid = "token_not_yet_valid" //nolint:gosec // a word, not a credential
	CodeTokenCluster     = "token_wrong_cluster"
	CodeTokenShard       = "token_wrong_shard"
	CodeTokenUsed        = "token_used"
	CodeProofInvalid     = "proof_invalid"
	CodeInstanceUnknown  = "instance_unknown"
	CodeInstanceDeleted  = "instance_deleted"
	CodeNotLeader        = "not_leader"
	CodeRateLimited      = "rate_limited"
	CodeInternal         = "internal"

	CodeIdentityCloned   = "identity_cloned"   // another machine with this certificate is connected, and alive
	CodeIdentityMismatch = "identity_mismatch" // hello and certificate name different instances
	CodeBusy             = "busy"              // no room, or an earlier hello of this instance is being looked at
)

// Final says whether a code stays until a person does something: to ask again soon
// would change nothing.
func Final(code string) bool {
	switch code {
	case CodeTokenInvalid, CodeTokenExpired, CodeTokenCluster, CodeTokenShard, CodeTokenUsed, CodeProofInvalid,
		CodeInstanceUnknown, CodeInstanceDeleted, CodeIdentityCloned, CodeIdentityMismatch:
		return true
	}
	return false
}

// exporterLabel and exporterBytes bind a proof to the TLS session it is sent in.
const (
	exporterLabel = "EXPORTER-berth-register"
	exporterBytes = 32
)

// ProofText is what an agent signs to show that it has the key: it holds for one token
// and one TLS session, so that whoever overhears it has nothing.
func ProofText(token string, s tls.ConnectionState) ([]byte, error) {
	exported, err := s.ExportKeyingMaterial(exporterLabel, nil, exporterBytes)
	if err != nil {
		return nil, fmt.Errorf("bind a proof to its connection: %w", err)
	}
	sum := sha256.Sum256([]byte(token))
	return []byte("berth register v1\n" + hex.EncodeToString(sum[:]) + "\n" + hex.EncodeToString(exported)), nil
}

// Prove signs ProofText.
func Prove(key ed25519.PrivateKey, token string, s tls.ConnectionState) ([]byte, error) {
	text, err := ProofText(token, s)
	if err != nil {
		return nil, err
	}
	return ed25519.Sign(key, text), nil
}

// Proven says whether a proof is that of the key, for this token in this session.
func Proven(key ed25519.PublicKey, token string, s tls.ConnectionState, proof []byte) bool {
	text, err := ProofText(token, s)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, text, proof)
}
