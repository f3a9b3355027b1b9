package wiretest

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

// Machine is what an agent's folder is made of.
type Machine struct {
	Instance                     string
	Registration, Agent, Ingress string // addresses
	Token                        string // "" is none
	Cert                         *tls.Certificate
}

// Folder makes an agent's folder, as a provider or a registration leaves it.
func Folder(t testing.TB, ca *CA, m Machine) string {
	t.Helper()
	dir := t.TempDir()
	if m.Registration == "" {
		m.Registration = "127.0.0.1:1" // nobody
	}
	boot, err := json.Marshal(map[string]string{
		"cluster_id": "test", "shard": "a", "instance_id": m.Instance,
		"registration_addr": m.Registration, "agent_addr": m.Agent, "ingress_addr": m.Ingress,
	})
	must(t, err)
	put(t, dir, "bootstrap.json", boot)
	put(t, dir, "ca.crt", ca.PEM())
	if m.Token != "" {
		put(t, dir, "nonce.jwt", []byte(m.Token+"\n"))
	}
	if m.Cert != nil {
		key, ok := m.Cert.PrivateKey.(ed25519.PrivateKey)
		if !ok {
			t.Fatal("the key of a machine is Ed25519")
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		must(t, err)
		put(t, dir, "identity.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
		put(t, dir, "identity.crt", CertPEM(*m.Cert))
	}
	return dir
}

// CertPEM is the certificate alone.
func CertPEM(c tls.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
}

func put(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}
