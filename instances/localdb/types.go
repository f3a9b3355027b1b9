package localdb

import (
	"encoding/json"
	"errors"
	"time"
)

// The failures a caller can tell apart with errors.Is.
var (
	// ErrNotFound: the cache has no such row. It says nothing about the world.
	ErrNotFound = errors.New("not in the cache")
	// ErrConflict: the cached instance is of another tenant or group, or otherwise
	// on demand, or its token is another instance's. None of these ever changes.
	ErrConflict = errors.New("cached instance is another one")
	// ErrStale: the cache was filled from a newer version of the record.
	ErrStale = errors.New("cached record is newer")
	// ErrClaimed: the instance is registered with another key.
	ErrClaimed = errors.New("instance is registered with another key")
	// ErrLost: the file was deleted, replaced or damaged while it was open. Renew the
	// DB and fill it again.
	ErrLost = errors.New("cache is lost")
)

// Instance is what is known of one machine. Times are UTC and the zero time is
// none; empty JSON and an empty map come back as nil.
type Instance struct {
	// ID, Tenant and Group are never empty.
	ID     string
	Tenant string
	Group  string
	// OnDemand instances are not counted in their group's size.
	OnDemand     bool
	Template     string
	InstanceType string
	// Status is the record's.
	Status string

	// ProviderID is the provider's own id, empty until it told one.
	ProviderID string
	// ProviderAt is when the provider launched it.
	ProviderAt time.Time
	// ProviderState is what the provider said last.
	ProviderState json.RawMessage

	Hostname string
	FQDN     string
	IPv4     string
	IPv6     string

	// NonceHash is the hash of the registration token, which is nowhere here.
	NonceHash string
	IssuedAt  time.Time
	// PublicKey is that with which it registered, in PEM.
	PublicKey     string
	RegisteredAt  time.Time
	CertSerial    string
	CertExpiresAt time.Time
	// CertificatesAt is when it last got certificates for its workloads.
	CertificatesAt time.Time

	// HealthAt is when it last reported, and Health what.
	HealthAt time.Time
	Health   json.RawMessage

	RuntimeConfigHash string
	InfraConfigHash   string

	DrainStartedAt time.Time
	DrainAckedAt   time.Time

	Tags map[string]string

	// RecordVersion and RecordTag are the version of the record that was read and
	// its tag in the object store.
	RecordVersion int64
	RecordTag     string

	CreatedAt time.Time
	UpdatedAt time.Time
	// DeletedAt is when it was found to be gone.
	DeletedAt time.Time
}

// Group is what was last applied to a group.
type Group struct {
	Tenant            string
	Key               string
	RuntimeConfigHash string
	InfraConfigHash   string
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// Image is what the name of an image meant when it was last resolved.
type Image struct {
	Name       string
	ImageID    string
	ResolvedAt time.Time
}
