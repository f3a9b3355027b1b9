package secrets

// SecretType says how a secret reaches the container that asks for it.
type SecretType string

const (
	// SecretEnv is set as an environment variable.
	SecretEnv SecretType = "env"

	// SecretFile is mounted as a file.
	SecretFile SecretType = "file"

	// SecretRegistry is the credential that pulls the image.
	SecretRegistry SecretType = "registry"

	// SecretTLS is a certificate chain and its key.
	SecretTLS SecretType = "tls"
)
