package secrets

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"filippo.io/age"
)

const (
	macPurpose     = "berth/secrets data key mac v1"
	dataKeyPurpose = "berth/secrets data key v1"
)

// master is a master key. Its recipient, the public half, may be shown.
type master struct {
	identity  *age.X25519Identity
	recipient string
	// macKey proves that a data key was wrapped by who has the master key: to
	// encrypt to the recipient takes its public half alone.
	macKey []byte
}

func newMaster(id *age.X25519Identity) (*master, error) {
	macKey, err := hkdf.Key(sha256.New, []byte(id.String()), nil, macPurpose, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive from the master key: %w", err)
	}
	return &master{id, id.Recipient().String(), macKey}, nil
}

// mac vouches for a tenant's data key.
func (m *master) mac(tenant string, key []byte) []byte {
	h := hmac.New(sha256.New, m.macKey)
	h.Write(joined(dataKeyPurpose, m.recipient, tenant, string(key)))
	return h.Sum(nil)
}

// Format keeps the key out of whatever prints a master.
func (m *master) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(m.recipient)) }
