package secrets

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/berth-cloud/berth/secrets"
)

// A blob is a header, the nonce of 12 bytes, the sealed value and the tag of 16.
// The header is what the blob is, its format and the id of its key. It and the
// name are bound to the value: a blob opens under its own name only.
const (
	blobMagic  = "berthsec"
	blobFormat = 1

	headerBytes  = len(blobMagic) + 1 + keyIDBytes
	overhead     = headerBytes + 12 + 16
	maxBlobBytes = MaxValueBytes + overhead
)

// seal makes the blob of a value.
func seal(k Key, name string, value Secret) []byte {
	blob := make([]byte, 0, value.Len()+overhead)
	blob = append(blob, blobMagic...)
	blob = append(blob, blobFormat)
	blob = append(blob, k.id[:]...)
	plain := value.Reveal()
	defer clear(plain)
	return k.aead.Seal(blob, nil, plain, bound(name, blob))
}

// unseal opens what seal made under the same name, and says which key it was
// sealed with.
func unseal(keys Keys, name string, blob []byte) (Secret, Key, error) {
	if len(blob) < overhead || len(blob) > maxBlobBytes || string(blob[:len(blobMagic)]) != blobMagic {
		return Secret{}, Key{}, fmt.Errorf("%w: it is of no known form", ErrTampered)
	}
	if f := blob[len(blobMagic)]; f != blobFormat {
		return Secret{}, Key{}, fmt.Errorf("%w: it has format %d, this program knows %d", ErrTampered, f, blobFormat)
	}
	header, sealed := blob[:headerBytes], blob[headerBytes:]
	id := header[len(blobMagic)+1:]
	k, ok := keys.find(id)
	if !ok {
		return Secret{}, Key{}, fmt.Errorf("%w: key %s, and neither the primary %s nor %d old ones are that; give it as an old key",
			ErrWrongKey, hex.EncodeToString(id), keys.Primary.ID(), len(keys.Old))
	}
	plain, err := k.aead.Open(nil, nil, sealed, bound(name, header))
	if err != nil {
		return Secret{}, Key{}, fmt.Errorf("%w: it does not open with key %s under this name", ErrTampered, k.ID())
	}
	defer clear(plain)
	return secrets.NewSecret(plain), k, nil
}

// bound is what a value is bound to. The length keeps name and header apart.
func bound(name string, header []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(name))) // at most MaxNameBytes
	return append(append(b, name...), header...)
}
