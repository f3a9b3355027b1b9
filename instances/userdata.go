package instances

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
)

// mark stands in frozen user data for what must not be in a record. It is made of
// characters that no function of a template changes.
func mark(instanceID, name string) string {
	sum := sha256.Sum256([]byte("berth userdata\n" + instanceID + "\n" + name))
	return "berth-mark." + hex.EncodeToString(sum[:16])
}

const nonceName = "nonce"

func secretMark(name string) string { return "secret/" + name }

// freeze renders user data with marks in place of the token and of secrets, and makes
// sure that putting those in gives what rendering with them would have given.
func freeze(source string, data UserdataTemplateData) (string, error) {
	marked := data
	marked.Nonce = mark(data.Instance.ID, nonceName)
	marked.Secret = map[string]string{}
	for name := range data.Secret {
		marked.Secret[name] = mark(data.Instance.ID, secretMark(name))
	}
	frozen, err := render("userdata", source, marked)
	if err != nil {
		return "", err
	}
	real, err := render("userdata", source, data)
	if err != nil {
		// Its text may hold what a mark stands for.
		return "", fmt.Errorf("%w: the user data does something with the token or a secret that fails; print them as they are", ErrTemplate)
	}
	if thaw(frozen, data.Instance.ID, data.Nonce, data.Secret) != real {
		return "", fmt.Errorf("%w: the user data does more with the token or a secret than print it as it is", ErrTemplate)
	}
	if len(real) > infra.MaxUserData {
		return "", fmt.Errorf("%w: the user data has %d bytes, %d are the most", ErrTemplate, len(real), infra.MaxUserData)
	}
	return frozen, nil
}

// thaw puts the token and secrets in the place of their marks.
func thaw(frozen, instanceID, token string, secret map[string]string) string {
	pairs := []string{mark(instanceID, nonceName), token}
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		pairs = append(pairs, mark(instanceID, secretMark(name)), secret[name])
	}
	return strings.NewReplacer(pairs...).Replace(frozen)
}
