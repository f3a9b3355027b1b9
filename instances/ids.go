package instances

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/id"
)

// ErrInvalidID: a text is no instance id, or no storage key, in its one spelling.
var ErrInvalidID = errors.New("invalid instance id")

const (
	uuidLen       = 36
	kindLen       = 3
	storageKeyLen = uuidLen + 1 + kindLen
)

// StorageKey is the instance's id as a part of an object's key: its UUID, which sorts
// by time, and its kind. "knc06bgm7733st2576nx5jht4ecjw" is
// "01970a1c-e31e-7422-9cd5-e9651d11cc97-knc".
//
// An id that is not in its canonical form is ErrInvalidID: one machine has one key.
func StorageKey(instanceID string) (string, error) {
	if len(instanceID) < kindLen {
		return "", fmt.Errorf("%w: %q is too short", ErrInvalidID, instanceID)
	}
	v, err := id.Parse(instanceID)
	if err != nil {
		return "", fmt.Errorf("%w: %q: %w", ErrInvalidID, clip(instanceID), err)
	}
	u := v.UUID()
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:] + "-" + v.Kind(), nil
}

// ParseStorageKey reads what StorageKey writes, and nothing else.
func ParseStorageKey(storageKey string) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: storage key %q: %s", ErrInvalidID, clip(storageKey), why)
	}
	if len(storageKey) < storageKeyLen {
		return bad("too short")
	}
	if storageKey[uuidLen] != '-' {
		return bad("missing separator before the kind")
	}
	if len(storageKey) > storageKeyLen {
		return bad("the kind is not three letters")
	}
	var u [16]byte
	text := storageKey[:8] + storageKey[9:13] + storageKey[14:18] + storageKey[19:23] + storageKey[24:uuidLen]
	if _, err := hex.Decode(u[:], []byte(text)); err != nil {
		return bad("no UUID")
	}
	v, err := id.FromUUID(storageKey[uuidLen+1:], u)
	if err != nil {
		return bad(err.Error())
	}
	// Upper case and dashes in other places are other spellings.
	if again, err := StorageKey(v.String()); err != nil || again != storageKey {
		return bad("not in its one spelling")
	}
	return v.String(), nil
}

// clip keeps a message about a long text short.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
