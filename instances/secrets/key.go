package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/berth-cloud/berth/secrets"
)

// KeyBytes is the length of a sealing key.
const KeyBytes = 32

// keyIDBytes is how much of a key's hash tells it from others. A key is random, so
// its hash tells nothing else of it.
const keyIDBytes = 8

// Key seals secrets. It is made with NewKey or GenerateKey and does not print.
type Key struct {
	id   [keyIDBytes]byte
	aead cipher.AEAD
}

// NewKey makes a key of 32 random bytes; any other number of them is
// ErrInvalidKey.
func NewKey(material Secret) (Key, error) {
	b := material.Reveal()
	defer clear(b)
	if len(b) != KeyBytes {
		return Key{}, fmt.Errorf("%w: it has %d bytes and needs %d", ErrInvalidKey, len(b), KeyBytes)
	}
	block, err := aes.NewCipher(b)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrInvalidKey, err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrInvalidKey, err)
	}
	k := Key{aead: aead}
	sum := sha256.Sum256(append([]byte("berth/instances/secrets key v1\x00"), b...))
	copy(k.id[:], sum[:])
	return k, nil
}

// GenerateKey returns the material of a new key, for its owner to keep.
func GenerateKey() Secret {
	b := make([]byte, KeyBytes)
	defer clear(b)
	_, _ = rand.Read(b) // it never fails
	return secrets.NewSecret(b)
}

// ID tells the key from others, in 16 hex digits that are no secret.
func (k Key) ID() string { return hex.EncodeToString(k.id[:]) }

// String is the ID.
func (k Key) String() string { return k.ID() }

// GoString is the ID.
func (k Key) GoString() string { return k.ID() }

// Keys are those of one Objects.
type Keys struct {
	// Primary seals.
	Primary Key
	// Old are those with which secrets may still be sealed.
	Old []Key
}

// find returns the key with an id.
func (k Keys) find(id []byte) (Key, bool) {
	for _, one := range append([]Key{k.Primary}, k.Old...) {
		if string(one.id[:]) == string(id) {
			return one, true
		}
	}
	return Key{}, false
}
