package localdb

import (
	"encoding/json"
	"strings"
	"time"
)

// field is one column of an instance: how it is written, read, and changed by a
// SaveInstance of an instance that is there.
type field struct {
	name string
	// value is what is written.
	value func(i *Instance) (any, error)
	// into is what is read into.
	into func(i *Instance) any
	// merge is an expression of the old value, by the column's name, and the new
	// one, as excluded.name. Empty keeps the old one.
	merge string
}

// Merges. Each keeps what is known over what is not.
const (
	keep      = ""
	take      = "excluded.$"                                            // also when it is empty
	fill      = "CASE WHEN excluded.$ <> '' THEN excluded.$ ELSE $ END" // text
	fillTime  = "COALESCE(excluded.$, $)"                               // anything that may be NULL
	once      = "COALESCE($, excluded.$)"                               // the first stays
	newHealth = "CASE WHEN excluded.health_at >= COALESCE(health_at, excluded.health_at) THEN excluded.$ ELSE $ END"
	newCert   = "CASE WHEN excluded.cert_expires_at >= COALESCE(cert_expires_at, excluded.cert_expires_at) THEN excluded.$ ELSE $ END"
	// The key belongs to the registration: it stays with the first.
	firstKey = "CASE WHEN registered_at IS NULL AND excluded.$ <> '' OR $ = '' THEN excluded.$ ELSE $ END"
)

func text(name, merge string, at func(*Instance) *string) field {
	return field{
		name, func(i *Instance) (any, error) { return *at(i), nil },
		func(i *Instance) any { return at(i) }, merge,
	}
}

func moment(name, merge string, at func(*Instance) *time.Time) field {
	return field{
		name, func(i *Instance) (any, error) { return stamp(*at(i)), nil },
		func(i *Instance) any { return asTime(at(i)) }, merge,
	}
}

func raw(name, merge string, at func(*Instance) *json.RawMessage) field {
	return field{
		name, func(i *Instance) (any, error) { return rawText(*at(i)), nil },
		func(i *Instance) any { return rawColumn{at(i)} }, merge,
	}
}

// fields are the columns of an instance. The test of round trips fails for a
// member of Instance that is not here.
var fields = []field{
	text("id", keep, func(i *Instance) *string { return &i.ID }),
	text("tenant", keep, func(i *Instance) *string { return &i.Tenant }),
	text("group_key", keep, func(i *Instance) *string { return &i.Group }),
	{"on_demand", func(i *Instance) (any, error) { return i.OnDemand, nil }, func(i *Instance) any { return &i.OnDemand }, keep},
	text("template", fill, func(i *Instance) *string { return &i.Template }),
	text("instance_type", fill, func(i *Instance) *string { return &i.InstanceType }),
	text("status", fill, func(i *Instance) *string { return &i.Status }),
	text("provider_id", fill, func(i *Instance) *string { return &i.ProviderID }),
	moment("provider_at", fillTime, func(i *Instance) *time.Time { return &i.ProviderAt }),
	raw("provider_state", fillTime, func(i *Instance) *json.RawMessage { return &i.ProviderState }),
	text("hostname", fill, func(i *Instance) *string { return &i.Hostname }),
	text("fqdn", fill, func(i *Instance) *string { return &i.FQDN }),
	text("ip4", fill, func(i *Instance) *string { return &i.IPv4 }),
	text("ip6", fill, func(i *Instance) *string { return &i.IPv6 }),
	text("nonce_hash", fill, func(i *Instance) *string { return &i.NonceHash }),
	moment("issued_at", fillTime, func(i *Instance) *time.Time { return &i.IssuedAt }),
	text("instance_pub", firstKey, func(i *Instance) *string { return &i.PublicKey }),
	moment("registered_at", once, func(i *Instance) *time.Time { return &i.RegisteredAt }),
	text("cert_serial", newCert, func(i *Instance) *string { return &i.CertSerial }),
	moment("cert_expires_at", newCert, func(i *Instance) *time.Time { return &i.CertExpiresAt }),
	moment("certificates_at", fillTime, func(i *Instance) *time.Time { return &i.CertificatesAt }),
	moment("health_at", newHealth, func(i *Instance) *time.Time { return &i.HealthAt }),
	raw("health", newHealth, func(i *Instance) *json.RawMessage { return &i.Health }),
	text("runtime_config_hash", fill, func(i *Instance) *string { return &i.RuntimeConfigHash }),
	text("infra_config_hash", fill, func(i *Instance) *string { return &i.InfraConfigHash }),
	moment("drain_started_at", once, func(i *Instance) *time.Time { return &i.DrainStartedAt }),
	moment("drain_acked_at", once, func(i *Instance) *time.Time { return &i.DrainAckedAt }),
	{"tags", func(i *Instance) (any, error) { return tagsText(i.Tags) }, func(i *Instance) any { return tagsColumn{&i.Tags} }, take},
	{"record_version", func(i *Instance) (any, error) { return i.RecordVersion, nil }, func(i *Instance) any { return &i.RecordVersion }, take},
	text("record_tag", fill, func(i *Instance) *string { return &i.RecordTag }),
	moment("created_at", once, func(i *Instance) *time.Time { return &i.CreatedAt }),
	moment("updated_at", fillTime, func(i *Instance) *time.Time { return &i.UpdatedAt }),
	moment("deleted_at", once, func(i *Instance) *time.Time { return &i.DeletedAt }),
}

// The statements, made from the fields.
var (
	selectInstance = "SELECT " + strings.Join(fieldNames(), ", ") + " FROM instances "
	insertInstance = "INSERT INTO instances (" + strings.Join(fieldNames(), ", ") + ") VALUES (" +
		strings.TrimSuffix(strings.Repeat("?, ", len(fields)), ", ") + ")"
	saveInstance = insertInstance + " ON CONFLICT (id) DO UPDATE SET " + merges() +
		" WHERE tenant = excluded.tenant AND group_key = excluded.group_key AND on_demand = excluded.on_demand" +
		" AND record_version <= excluded.record_version"
)

func fieldNames() []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func merges() string {
	var sets []string
	for _, f := range fields {
		if f.merge != keep {
			sets = append(sets, f.name+" = "+strings.ReplaceAll(f.merge, "$", f.name))
		}
	}
	return strings.Join(sets, ", ")
}

// row is what is written of an instance.
func (i *Instance) row() ([]any, error) {
	values := make([]any, 0, len(fields))
	for _, f := range fields {
		v, err := f.value(i)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// scan reads a row of selectInstance.
func (i *Instance) scan(read func(...any) error) error {
	into := make([]any, 0, len(fields))
	for _, f := range fields {
		into = append(into, f.into(i))
	}
	return read(into...)
}
