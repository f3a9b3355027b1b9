package instances

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/config"
)

// State is where a record stands. It only goes forward.
type State string

// The states, in their order.
const (
	StatePending    State = "pending"    // the intent; perhaps there is a machine
	StateCreated    State = "created"    // the provider told its id of the machine
	StateRegistered State = "registered" // its agent has a certificate
	StateDeleting   State = "deleting"   // it has to go; perhaps there is a machine
	StateDeleted    State = "deleted"    // the provider said that it is gone
)

// rank orders the states, and is 0 for what is none.
func (s State) rank() int {
	return slices.Index([]State{StatePending, StateCreated, StateRegistered, StateDeleting, StateDeleted}, s) + 1
}

// Leaving reports whether the machine is to go or is gone.
func (s State) Leaving() bool { return s.rank() >= StateDeleting.rank() }

// recordSchema is the form of records that this program writes.
const recordSchema = 1

// InstanceRecord represents the stored instance data.
type InstanceRecord struct {
	InstanceID         string               `json:"instance_id"`
	Tenant             string               `json:"tenant"`
	Group              string               `json:"group"`
	OnDemand           bool                 `json:"on_demand"`
	ProviderInstanceID string               `json:"provider_instance_id"`
	InstanceType       string               `json:"instance_type"`
	Status             string               `json:"status"` // the provider's, when it was heard last
	PrivateIPv4        string               `json:"private_ipv4"`
	PrivateIPv6        string               `json:"private_ipv6"`
	Hostname           string               `json:"hostname"`
	CreatedAt          time.Time            `json:"created_at"`
	LastUpdated        time.Time            `json:"last_updated"`
	RegistrationJWT    string               `json:"registration_jwt"` // "sha256:" and the token's hash
	Config             *config.MergedConfig `json:"config"`           // Merged configuration used
	Tags               map[string]string    `json:"tags"`
	InfraConfigHash    string               `json:"infra_config_hash"` // Infra config hash at provision time

	// Registration data (populated after registration completes)
	RegisteredAt  *time.Time `json:"registered_at,omitempty"`
	PublicKeyPEM  string     `json:"public_key_pem,omitempty"`
	CertSerial    string     `json:"cert_serial,omitempty"`
	CertExpiresAt *time.Time `json:"cert_expires_at,omitempty"`

	// Schema is the form of the record; Version grows with every write; Term is that
	// of the leader that wrote last, and never gets smaller.
	Schema  int    `json:"schema"`
	Version int64  `json:"version"`
	Term    uint64 `json:"term"`
	State   State  `json:"state"`

	Template          string `json:"template"`
	RuntimeConfigHash string `json:"runtime_config_hash"`
	// RequestHash tells whether the same was asked for again.
	RequestHash string `json:"request_hash"`
	Intent      Intent `json:"intent"`
	// LaunchDeadline is until when the machine has to be there, TokenExpiresAt until
	// when its agent has to be registered.
	LaunchDeadline time.Time  `json:"launch_deadline"`
	TokenExpiresAt time.Time  `json:"token_expires_at"`
	LaunchedAt     *time.Time `json:"launched_at,omitempty"` // by the provider's clock

	// Joined is of a host that no provider made; nil is a machine of the shard's.
	Joined *JoinedHost `json:"joined,omitempty"`

	// Certificates are those that still hold, the newest last.
	Certificates []IssuedCertificate `json:"certificates,omitempty"`

	DeleteRequestedAt *time.Time `json:"delete_requested_at,omitempty"`
	DeleteReason      string     `json:"delete_reason,omitempty"`
	DeletedAt         *time.Time `json:"deleted_at,omitempty"`
}

// IssuedCertificate is a certificate that an agent was given.
type IssuedCertificate struct {
	Serial    string    `json:"serial"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Intent is all that the provider is told, but for the token and secrets: UserData has
// marks in their place. It is frozen with the record.
type Intent struct {
	ClusterID    string            `json:"cluster_id"`
	Shard        string            `json:"shard"`
	InstanceKind string            `json:"instance_kind"`
	InstanceType string            `json:"instance_type"`
	SubnetID     string            `json:"subnet_id"`
	UserData     string            `json:"user_data"`
	CACertPEM    string            `json:"ca_cert_pem"`
	Args         map[string]any    `json:"args,omitempty"`
	CustomTags   map[string]string `json:"custom_tags,omitempty"`
	Images       map[string]string `json:"images,omitempty"`
	Secrets      []string          `json:"secrets,omitempty"` // names alone
	Idempotency  string            `json:"idempotency"`
	Skew         time.Duration     `json:"skew"` // of the token
	// Digest is that of the request with token and secrets in it.
	Digest string `json:"digest"`
}

const (
	instancePrefix = "instance/"
	claimPrefix    = "claim/"
	deniedPrefix   = "denied/"
)

// recordKey is where the record of a tenant's instance is.
func recordKey(tenant, instanceID string) (string, error) {
	if err := checkName("tenant", tenant); err != nil {
		return "", err
	}
	key, err := StorageKey(instanceID)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalidRequest, err)
	}
	return instancePrefix + tenant + "." + key + ".json", nil
}

// parseRecordKey reads what recordKey writes.
func parseRecordKey(key string) (tenant, instanceID string, err error) {
	rest, ok := strings.CutPrefix(key, instancePrefix)
	name, isJSON := strings.CutSuffix(rest, ".json")
	tenant, storageKey, dotted := strings.Cut(name, ".")
	if !ok || !isJSON || !dotted {
		return "", "", fmt.Errorf("%w: %q is no key of a record", ErrRecord, clip(key))
	}
	instanceID, err = ParseStorageKey(storageKey)
	if err == nil {
		err = checkName("tenant", tenant)
	}
	if err != nil {
		return "", "", fmt.Errorf("%w: %q: %w", ErrRecord, clip(key), err)
	}
	return tenant, instanceID, nil
}

// parseRecord refuses what this program would not have written there.
func parseRecord(key string, data []byte) (*InstanceRecord, error) {
	bad := func(why string) (*InstanceRecord, error) {
		return nil, fmt.Errorf("%w: %s: %s; restore it; if it is moved out of the folder instead, its machine is removed as one of nobody", ErrRecord, key, why)
	}
	var r InstanceRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return bad("it is no record in JSON, or something follows it")
	}
	if r.Schema > recordSchema {
		return bad(fmt.Sprintf("it has schema %d, of a newer program than this one, which knows %d", r.Schema, recordSchema))
	}
	if own, err := recordKey(r.Tenant, r.InstanceID); err != nil || own != key {
		return bad("it is the record of another instance")
	}
	if r.State.rank() == 0 || r.Version < 1 || r.CreatedAt.IsZero() || r.Config == nil {
		return bad("state, version, creation or configuration is missing")
	}
	return &r, nil
}

// clone is a copy that shares nothing that is changed.
func (r *InstanceRecord) clone() *InstanceRecord {
	c := *r
	c.Certificates = slices.Clone(r.Certificates)
	return &c
}

// setState goes forward, or stays.
func (r *InstanceRecord) setState(s State) {
	if s.rank() > r.State.rank() {
		r.State = s
	}
}

// keeps is ErrRegression when after takes back what r says.
func (r *InstanceRecord) keeps(after *InstanceRecord) error {
	lost := func(what string) error { return fmt.Errorf("%w: %s of instance %s", ErrRegression, what, r.InstanceID) }
	switch {
	case after.InstanceID != r.InstanceID || after.Tenant != r.Tenant || after.Group != r.Group || after.OnDemand != r.OnDemand:
		return lost("who it is")
	case (after.Joined == nil) != (r.Joined == nil) || r.Joined != nil && *after.Joined != *r.Joined:
		return lost("what it is")
	case after.State.rank() < r.State.rank():
		return lost("the state")
	case after.Term < r.Term:
		return lost("the term")
	case r.ProviderInstanceID != "" && after.ProviderInstanceID != r.ProviderInstanceID:
		return lost("the provider's id")
	case r.PublicKeyPEM != "" && after.PublicKeyPEM != r.PublicKeyPEM:
		return lost("the key")
	case r.RegisteredAt != nil && (after.RegisteredAt == nil || !after.RegisteredAt.Equal(*r.RegisteredAt)):
		return lost("the registration")
	case after.RegistrationJWT != r.RegistrationJWT || !after.CreatedAt.Equal(r.CreatedAt) || after.Intent.Digest != r.Intent.Digest:
		return lost("the intent")
	case r.DeletedAt != nil && after.DeletedAt == nil, r.DeleteRequestedAt != nil && after.DeleteRequestedAt == nil:
		return lost("the deletion")
	case r.PrivateIPv4 != "" && after.PrivateIPv4 == "", r.PrivateIPv6 != "" && after.PrivateIPv6 == "", r.Hostname != "" && after.Hostname == "":
		return lost("an address")
	}
	return nil
}
