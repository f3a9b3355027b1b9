package hostdir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// RecordFile is the record's name in the folder of a machine.
const RecordFile = "machine.json"

// Unfinished ends the name of a file that is being made.
const Unfinished = ".new"

// Record is what the record of every machine has.
type Record struct {
	// Version is the kind of provider's own, of what else is in the record.
	Version    int
	InstanceID string
	ProviderID string
	Tags       map[string]string
	LaunchedAt time.Time
	// DeletedAt is when it was first asked to go, or zero.
	DeletedAt time.Time
}

// Head is the record itself, for a record that has this one in it.
func (r *Record) Head() *Record { return r }

// Recorded is a pointer to a record that has a Record in it.
type Recorded[T any] interface {
	*T
	Head() *Record
}

// idChance is how many digits of chance end a provider's id.
const idChance = 8

// NewRecord is the record of a new machine: whose it is, and a name of its own.
func (m *Machines[T, P]) NewRecord(version int, req infra.CreateInstanceRequest) Record {
	var b [idChance / 2]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Record{
		Version: version, InstanceID: req.InstanceID, ProviderID: m.idPrefix() + hex.EncodeToString(b[:]),
		Tags: req.Tags(), LaunchedAt: m.Now().UTC().Round(0),
	}
}

// idPrefix begins the ids of all machines of the owner: the kind's prefix, 8 digits
// of a hash of the owner, and a dash.
func (m *Machines[T, P]) idPrefix() string {
	sum := sha256.Sum256([]byte(m.Owner.ClusterID + "\n" + m.Owner.Shard))
	return m.maker.IDPrefix + hex.EncodeToString(sum[:4]) + "-"
}

// Owns reports whether a record is of this owner's machine of that instance, made
// by this kind of provider. Only then is anything it names touched.
func (m *Machines[T, P]) Owns(r T, instanceID string) bool {
	head, prefix := P(&r).Head(), m.idPrefix()
	return m.Owner.Is(head.Tags, instanceID) && head.InstanceID == instanceID &&
		strings.HasPrefix(head.ProviderID, prefix) && len(head.ProviderID) == len(prefix)+idChance
}
