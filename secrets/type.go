package secrets

// SecretType says how a workload gets a secret.
type SecretType string

// The types.
const (
	// SecretEnv is an environment variable.
	SecretEnv SecretType = "env"
	// SecretFile is a file in the workload's file system.
	SecretFile SecretType = "file"
	// SecretRegistry is a login to an image registry; no workload sees it.
	SecretRegistry SecretType = "registry"
	// SecretTLS is a certificate with its private key.
	SecretTLS SecretType = "tls"
)

// Valid reports whether t is one of the types.
func (t SecretType) Valid() bool {
	switch t {
	case SecretEnv, SecretFile, SecretRegistry, SecretTLS:
		return true
	}
	return false
}
