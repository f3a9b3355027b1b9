package infra

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"github.com/berth-cloud/berth/secrets"
)

// CreateInstanceRequest is all that a machine is made of. It is frozen before
// the first call, and a repeated call carries the same bytes.
type CreateInstanceRequest struct {
	ClusterID string
	Shard     string
	// Group and Template are names for people; they decide nothing here.
	Group    string
	Template string
	// InstanceKind is the three letters that InstanceID begins with.
	InstanceKind string
	// InstanceID is an id of package id. It has one machine in its life.
	InstanceID string
	// InstanceType and SubnetID are the provider's words, empty for its default.
	InstanceType string
	SubnetID     string
	// UserData is what the machine runs at its first boot: any bytes, at most
	// MaxUserData. It holds a token and cannot be printed.
	UserData secrets.Secret
	// CACertPEM is the certificate of the cluster's authority, which is public.
	CACertPEM []byte
	// Args are for the kind of provider: strings, numbers, booleans, lists and
	// objects. One that it does not know is ErrInvalidRequest.
	Args map[string]any
	// CustomTags are added to the machine's; none may begin with TagPrefix.
	CustomTags map[string]string
	// IdempotencyToken is handed to a provider that takes one, and is at most
	// MaxToken characters. Empty means InstanceID.
	IdempotencyToken string
}

// Owner is whose machine it will be.
func (r CreateInstanceRequest) Owner() Owner { return Owner{ClusterID: r.ClusterID, Shard: r.Shard} }

// Token is the idempotency token that goes to the provider.
func (r CreateInstanceRequest) Token() string {
	if r.IdempotencyToken == "" {
		return r.InstanceID
	}
	return r.IdempotencyToken
}

// Clone is a copy that shares nothing with r. Args that are no JSON are left
// out; Validate refuses them.
func (r CreateInstanceRequest) Clone() CreateInstanceRequest {
	r.CACertPEM = bytes.Clone(r.CACertPEM)
	r.CustomTags = maps.Clone(r.CustomTags)
	if r.Args != nil {
		raw, err := json.Marshal(r.Args)
		r.Args = map[string]any{}
		if err == nil {
			_ = json.Unmarshal(raw, &r.Args)
		}
	}
	return r
}

// digestLen is how many hex digits a digest has: 160 bits, short enough for a
// tag of every provider.
const digestLen = 40

// Digest tells requests apart: equal for the same bytes, whatever the order of
// maps, and another for any other request, user data and token included. It is
// safe to show, as the user data has a token in it that cannot be guessed.
func (r CreateInstanceRequest) Digest() string {
	userData := sha256.Sum256(r.UserData.Reveal())
	form := struct {
		Version                                                                                int
		Cluster, Shard, Group, Template, Kind, ID, Type, Subnet, UserData, CACert, Idempotency string
		Args                                                                                   map[string]any
		Tags                                                                                   map[string]string
	}{
		1, r.ClusterID, r.Shard, r.Group, r.Template, r.InstanceKind, r.InstanceID, r.InstanceType,
		r.SubnetID, hex.EncodeToString(userData[:]), string(r.CACertPEM), r.Token(), r.Args, r.CustomTags,
	}
	if len(form.Args) == 0 {
		form.Args = nil
	}
	if len(form.Tags) == 0 {
		form.Tags = nil
	}
	raw, err := json.Marshal(form)
	if err != nil {
		return "" // Validate refuses the args
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:digestLen]
}
