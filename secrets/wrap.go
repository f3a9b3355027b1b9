package secrets

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

// wrapFormat is the version of a wrapped data key's JSON.
const wrapFormat = 1

// wrappedKey is a tenant's data key as it is stored: encrypted with age to every
// master key in For, each of which vouches for it.
type wrappedKey struct {
	Format int          `json:"format"`
	For    []wrappedFor `json:"for"`
	Age    []byte       `json:"age"`
}

type wrappedFor struct {
	Recipient string `json:"recipient"`
	MAC       []byte `json:"mac"`
}

// wrap encrypts a tenant's data key to the masters.
func wrap(tenant string, key []byte, masters ...*master) ([]byte, error) {
	w := wrappedKey{Format: wrapFormat}
	var recipients []age.Recipient
	for _, m := range masters {
		recipients = append(recipients, m.identity.Recipient())
		w.For = append(w.For, wrappedFor{m.recipient, m.mac(tenant, key)})
	}
	var out bytes.Buffer
	enc, err := age.Encrypt(&out, recipients...)
	if err != nil {
		return nil, fmt.Errorf("wrap the data key of %s: %w", tenant, err)
	}
	if _, err := enc.Write(key); err != nil {
		return nil, fmt.Errorf("wrap the data key of %s: %w", tenant, err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("wrap the data key of %s: %w", tenant, err)
	}
	w.Age = out.Bytes()
	return json.Marshal(w)
}

// parseWrapped reads what wrap wrote.
func parseWrapped(tenant string, row []byte) (w wrappedKey, err error) {
	if len(row) > MaxWrappedBytes {
		return w, fmt.Errorf("%w: the data key of %s takes %d bytes", ErrTampered, tenant, len(row))
	}
	if err := json.Unmarshal(row, &w); err != nil || w.Format != wrapFormat || len(w.For) == 0 {
		return wrappedKey{}, fmt.Errorf("%w: the data key of %s is of no known form", ErrTampered, tenant)
	}
	return w, nil
}

// recipients are the public halves of the masters that open it, in order.
func (w wrappedKey) recipients() []string {
	var all []string
	for _, f := range w.For {
		all = append(all, f.Recipient)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unwrap decrypts a tenant's data key with the first of the masters it is for.
func unwrap(tenant string, row []byte, masters ...*master) ([]byte, error) {
	w, err := parseWrapped(tenant, row)
	if err != nil {
		return nil, err
	}
	for _, m := range masters {
		for _, f := range w.For {
			if f.Recipient == m.recipient {
				return m.open(tenant, w.Age, f.MAC)
			}
		}
	}
	return nil, fmt.Errorf("%w: the data key of %s is for %q, the key file holds the key of %s",
		ErrSealed, tenant, cut(strings.Join(w.recipients(), ", ")), masters[0].recipient)
}

func (m *master) open(tenant string, wrapped, mac []byte) ([]byte, error) {
	tampered := fmt.Errorf("%w: the data key of %s is not what was wrapped for it", ErrTampered, tenant)
	plain, err := age.Decrypt(bytes.NewReader(wrapped), m.identity)
	if err != nil {
		return nil, tampered
	}
	key, err := io.ReadAll(io.LimitReader(plain, dataKeyBytes+1))
	if err != nil || len(key) != dataKeyBytes || !hmac.Equal(m.mac(tenant, key), mac) {
		return nil, tampered
	}
	return key, nil
}

// cut shortens what a stored row says of itself.
func cut(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
