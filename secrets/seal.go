package secrets

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

const (
	dataKeyBytes = 32

	// sealFormat is the first byte of a sealed value: AES-256-GCM with a random
	// nonce of 12 bytes before the ciphertext and a tag of 16 behind it.
	sealFormat   = 1
	sealOverhead = 1 + 12 + 16

	sealPurpose = "berth/secrets value v1"
)

// seal encrypts a value for one place: it opens there alone.
func seal(key []byte, ref Ref, v Version, value []byte) ([]byte, error) {
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(value)+sealOverhead), sealFormat)
	return aead.Seal(out, nil, value, place(ref, v)), nil
}

// unseal decrypts what seal made for the same place; anything else is
// ErrTampered.
func unseal(key []byte, ref Ref, v Version, sealed []byte) (Secret, error) {
	if len(sealed) < sealOverhead || len(sealed) > MaxSealedBytes || sealed[0] != sealFormat {
		return Secret{}, fmt.Errorf("%w: %s version %d is of no known form", ErrTampered, ref, v)
	}
	aead, err := newAEAD(key)
	if err != nil {
		return Secret{}, err
	}
	value, err := aead.Open(nil, nil, sealed[1:], place(ref, v))
	if err != nil {
		return Secret{}, fmt.Errorf("%w: %s version %d is not what was sealed there", ErrTampered, ref, v)
	}
	return hold(value), nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("data key: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// place is what a sealed value is bound to. Lengths keep apart what would read
// the same put together.
func place(ref Ref, v Version) []byte {
	b := joined(sealPurpose, ref.Tenant, ref.Key)
	return binary.BigEndian.AppendUint64(b, uint64(v))
}

// joined is texts, each behind its length.
func joined(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}
