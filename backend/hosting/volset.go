package hosting

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// setFormat is the version of the sets' form.
const setFormat = 1

// set is the volumes of one lease, and whose they are. It is the one record of that:
// retention and restore change it and nothing else, so that there is an owner at any
// moment, the old one or the new one. A set that others may see is never changed: see
// [set.clone].
type set struct {
	Format       int       `json:"format"`
	ID           string    `json:"id"`
	Tenant       string    `json:"tenant"`
	ProviderUUID string    `json:"provider_uuid,omitempty"`
	CreatedAt    time.Time `json:"created_at"`

	State setState `json:"state"`
	// Owner is the lease that holds it; "" while none does.
	Owner string `json:"owner,omitempty"`
	// Generation counts the owners.
	Generation int    `json:"generation"`
	Slots      []slot `json:"slots,omitempty"`
	// DiskMB is the most that leases had while they held it.
	DiskMB int64 `json:"disk_mb,omitempty"`
	// Left is how a lease left it: while it is retained, while it is being removed, and
	// while another lease that holds it is being restored.
	Left *leaving `json:"left,omitempty"`

	// Attempts counts the removals that failed, and TriedAt is when the last one did.
	Attempts int       `json:"attempts,omitempty"`
	TriedAt  time.Time `json:"tried_at,omitzero"`
}

// setState is what becomes of a set.
type setState string

const (
	setHeld     setState = "held"
	setRetained setState = "retained"
	setReaping  setState = "reaping" // its volumes are being removed; there is no way back
)

// slot is the volumes of one directory of a service, one for each replica.
type slot struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Path    string `json:"path"`
	Count   int    `json:"count"`
	// Op is the operation that made the volumes from number Was on.
	Op  string `json:"op"`
	Was int    `json:"was,omitempty"`
}

// leaving is what has to be known of a lease that left its volumes.
type leaving struct {
	Lease     string    `json:"lease"`
	CreatedAt time.Time `json:"created_at"`
	At        time.Time `json:"at"`
	// Turn counts the lives in which it left something, of which there is any left: the
	// clock may have been put back between two.
	Turn        int                 `json:"turn,omitempty"`
	Items       []backend.LeaseItem `json:"items,omitempty"`
	Images      map[string]string   `json:"images,omitempty"`
	CallbackURL string              `json:"callback_url,omitempty"`
	// DiskMB is what is counted for it, and Disks what each instance had, by service.
	DiskMB int64            `json:"disk_mb"`
	Disks  map[string]int64 `json:"disks,omitempty"`
}

// ids are the volumes of a slot from a number on.
func (s slot) ids(from int) []string {
	out := make([]string, 0, max(s.Count-from, 0))
	for i := from; i < s.Count; i++ {
		out = append(out, s.ID+"-"+strconv.Itoa(i))
	}
	return out
}

// volumes are the ids of all volumes.
func (s *set) volumes() []string {
	var out []string
	for _, one := range s.Slots {
		out = append(out, one.ids(0)...)
	}
	return out
}

// slot finds that of a directory; -1 is none.
func (s *set) slot(service, path string) int {
	if s == nil {
		return -1
	}
	return slices.IndexFunc(s.Slots, func(o slot) bool { return o.Service == service && o.Path == path })
}

// claimed reports whether a lease holds it that is being restored, or was and nobody
// has noted it yet.
func (s *set) claimed() bool { return s.State == setHeld && s.Left != nil }

// heldBy reports whether a lease holds it.
func (s *set) heldBy(lease string) bool { return s != nil && s.State == setHeld && s.Owner == lease }

// leftBy reports whether a lease left it.
func (s *set) leftBy(lease string) bool { return s != nil && s.Left != nil && s.Left.Lease == lease }

// after orders what one lease left.
func (s *set) after(other *set) bool {
	if gone, otherGone := s.State == setReaping, other.State == setReaping; gone != otherGone {
		return otherGone
	}
	return cmp.Or(cmp.Compare(s.Left.Turn, other.Left.Turn), s.Left.At.Compare(other.Left.At), cmp.Compare(s.ID, other.ID)) > 0
}

func (s *set) clone() *set {
	out := *s
	out.Slots = slices.Clone(s.Slots)
	if s.Left != nil {
		l := *s.Left
		l.Items, l.Images, l.Disks = slices.Clone(l.Items), maps.Clone(l.Images), maps.Clone(l.Disks)
		out.Left = &l
	}
	return &out
}

func (s *set) encode() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the volumes %s: %w", s.ID, err)
	}
	return b, nil
}

// decodeSet reads a set. One of which the owner is not clear is an error.
func decodeSet(id string, b []byte) (*set, error) {
	var s set
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	switch {
	case s.Format != setFormat:
		return nil, fmt.Errorf("it has the form %d, and this version reads %d", s.Format, setFormat)
	case s.ID != id:
		return nil, fmt.Errorf("it is the record of %q", s.ID)
	case s.State == setHeld && s.Owner != "":
	case (s.State == setRetained || s.State == setReaping) && s.Owner == "" && s.Left != nil && s.Left.Lease != "":
	default:
		return nil, fmt.Errorf("it is %q, with the owner %q", s.State, s.Owner)
	}
	return &s, nil
}
