package config

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/secrets"
)

// ErrExposed is what the error of a file is that others than its reader could read or
// change.
var ErrExposed = errors.New(exposedWords)

const exposedWords = "others could read or change the file"

// HowToMakeSecret says how the file of a secret is made that is not there.
func HowToMakeSecret(path string) string {
	return "make one with: (umask 077; head -c 32 /dev/urandom | base64 > " + word(path) + ")"
}

// ReadSecretFile reads a secret of 32 to 4096 bytes, the one line of a file that
// nobody but its owner can read. One that others can read is ErrExposed. No error has
// anything of the secret.
func ReadSecretFile(path string) (secrets.Secret, error) {
	raw, err := readPrivate(path, maxSecretBytes+2)
	if err != nil {
		return secrets.Secret{}, err
	}
	defer clear(raw)
	// What editors and echo put at the end.
	text := bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r"))
	if err := checkSecret(text); err != nil {
		return secrets.Secret{}, err
	}
	return secrets.NewSecret(text), nil
}

// ReadKeyPair reads a certificate, with those that lead to its root, and its key. A
// key that others can read is ErrExposed.
func ReadKeyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, _, err := readFile(certFile, maxPEMBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readPrivate(keyFile, maxPEMBytes)
	if err != nil {
		return tls.Certificate{}, err
	}
	defer clear(key)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate and key do not make a pair: %w", err)
	}
	return pair, nil
}

func readPrivate(path string, most int64) ([]byte, error) {
	raw, exposed, err := readFile(path, most)
	switch {
	case err != nil:
		return nil, err
	case exposed != "":
		clear(raw)
		return nil, fmt.Errorf("%w: %s", ErrExposed, exposed)
	}
	return raw, nil
}
