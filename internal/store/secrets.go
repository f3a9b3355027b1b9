package store

import "github.com/berth-cloud/berth/secrets"

// SecretStore is the part of Store that keeps sealed secrets.
type SecretStore interface {
	// Secrets are the rows for secrets.Sealed. Each of its methods but the
	// listing of tenants reads and writes one tenant's rows alone. They are as
	// durable as all else in the store, and end with it.
	Secrets() secrets.Blobs
}
