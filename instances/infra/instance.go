package infra

import (
	"maps"
	"time"
)

// Instance is a machine as the provider sees it. Nothing in it is secret.
type Instance struct {
	// InstanceID is the id of the request, from the machine's tags.
	InstanceID string
	// ProviderInstanceID is the provider's own name for the machine. It never
	// changes, but may be given to another machine after this one is gone.
	ProviderInstanceID string
	Status             Status
	// PrivateIPv4, PrivateIPv6 and Hostname are empty until they are known.
	PrivateIPv4 string
	PrivateIPv6 string
	Hostname    string
	// LaunchedAt is when the provider made it, in UTC.
	LaunchedAt time.Time
	// Tags are the request's own and those of ownership.
	Tags map[string]string
}

// Clone is a copy that shares nothing.
func (i Instance) Clone() Instance {
	i.Tags = maps.Clone(i.Tags)
	return i
}

// OwnedBy reports whether the tags say that the machine is o's and has the id
// that it says.
func (i Instance) OwnedBy(o Owner) bool {
	return i.InstanceID != "" && o.Owns(i.Tags) && i.Tags[TagInstance] == i.InstanceID
}
