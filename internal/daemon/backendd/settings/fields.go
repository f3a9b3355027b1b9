package settings

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of what a file may say.
const (
	maxWorkers  = 256
	minTime     = 100 * time.Millisecond
	maxTime     = 24 * time.Hour
	maxMB       = 1 << 40
	maxRegistry = 100
	maxGrace    = 10 * 365 * 24 * time.Hour
	maxRetained = 1 << 20
)

// fields are the keys of the file.
func fields() []field[draft] {
	return []field[draft]{
		{Name: "name", Required: true, Read: func(d *decoder, v value, f *draft) { f.Name = d.name(v) }},
		{Name: "listen", Read: func(d *decoder, v value, f *draft) { f.Listen = d.listen(v) }},
		{Name: "tls", Read: func(d *decoder, v value, f *draft) {
			f.said = &tlsDraft{}
			yamlfile.Section(d, v, tlsFields(), f.said)
		}},
		{Name: "secret_file", Required: true, Read: func(d *decoder, v value, f *draft) { f.secretFile = d.file(v) }},
		{Name: "previous_secret_file", Read: func(d *decoder, v value, f *draft) { f.previousFile = d.file(v) }},
		{Name: "callback_secret_file", Read: func(d *decoder, v value, f *draft) { f.callbackFile = d.file(v) }},
		{Name: "docker", Read: func(d *decoder, v value, f *draft) { f.Docker = d.engine(v) }},
		{Name: "network_prefix", Read: func(d *decoder, v value, f *draft) { f.NetworkPrefix = d.networkPrefix(v) }},
		{Name: "network_pool", Read: func(d *decoder, v value, f *draft) { f.NetworkPool = d.pool(v) }},
		{Name: "isolation", Read: func(d *decoder, v value, f *draft) { yamlfile.Section(d, v, isolationFields(), &f.Isolation) }},
		{Name: "bind_address", Read: func(d *decoder, v value, f *draft) { f.BindAddress = d.address(v) }},
		{Name: "host", Read: func(d *decoder, v value, f *draft) { f.Host = d.host(v) }},
		{Name: "ingress", Read: func(d *decoder, v value, f *draft) {
			f.Ingress = &Ingress{}
			yamlfile.Section(d, v, ingressFields(), f.Ingress)
		}},
		{Name: "sku_profiles", Required: true, Read: readProfiles},
		{Name: "sku_mapping", Required: true, Read: readMapping},
		{Name: "disk_enforcement", Read: func(d *decoder, v value, f *draft) {
			text, _ := d.Str(v)
			f.skus.DiskEnforcement = sku.DiskEnforcement(text)
		}},
		{Name: "total_cpu_cores", Required: true, Read: func(d *decoder, v value, f *draft) { f.Pool.Total.MilliCPU = d.milli(v) }},
		{Name: "total_memory_mb", Required: true, Read: func(d *decoder, v value, f *draft) { f.Pool.Total.MemoryMB = d.megabytes(v) }},
		{Name: "total_disk_mb", Read: func(d *decoder, v value, f *draft) { f.Pool.Total.DiskMB = d.megabytes(v) }},
		{Name: "tenant_quota", Read: func(d *decoder, v value, f *draft) { yamlfile.Section(d, v, quotaFields(), &f.Pool) }},
		{Name: "allowed_registries", Required: true, Read: readRegistries},
		{Name: "egress", Read: func(d *decoder, v value, f *draft) { yamlfile.Section(d, v, egressFields(), &f.Egress) }},
		{Name: "timing", Read: func(d *decoder, v value, f *draft) { yamlfile.Section(d, v, timingFields(), &f.Timing) }},
		{Name: "retain_on_close", Read: func(d *decoder, v value, f *draft) { f.Retention.OnClose, _ = d.Boolean(v) }},
		{Name: "retention", Read: func(d *decoder, v value, f *draft) { yamlfile.Section(d, v, retentionFields(), &f.Retention) }},
		{Name: "workers", Read: func(d *decoder, v value, f *draft) { f.Workers, _ = d.Integer(v, 1, maxWorkers) }},
	}
}

func tlsFields() []field[tlsDraft] {
	return []field[tlsDraft]{
		{Name: "cert_file", Required: true, Read: func(d *decoder, v value, t *tlsDraft) { t.certFile = d.file(v) }},
		{Name: "key_file", Required: true, Read: func(d *decoder, v value, t *tlsDraft) { t.keyFile = d.file(v) }},
		{Name: "client_ca_file", Read: func(d *decoder, v value, t *tlsDraft) { t.clientCAFile = d.file(v) }},
	}
}

func quotaFields() []field[pool.Config] {
	return []field[pool.Config]{
		{Name: "cpu_cores", Read: func(d *decoder, v value, c *pool.Config) { c.TenantQuota.MilliCPU = d.milli(v) }},
		{Name: "memory_mb", Read: func(d *decoder, v value, c *pool.Config) { c.TenantQuota.MemoryMB = d.megabytes(v) }},
		{Name: "disk_mb", Read: func(d *decoder, v value, c *pool.Config) { c.TenantQuota.DiskMB = d.megabytes(v) }},
	}
}

func egressFields() []field[egress.Policy] {
	return []field[egress.Policy]{
		{Name: "allow_loopback", Read: func(d *decoder, v value, p *egress.Policy) { p.AllowLoopback, _ = d.Boolean(v) }},
		{Name: "allow_private", Read: func(d *decoder, v value, p *egress.Policy) { p.AllowPrivate, _ = d.Boolean(v) }},
	}
}

func retentionFields() []field[hosting.Retention] {
	return []field[hosting.Retention]{
		{Name: "grace", Read: func(d *decoder, v value, r *hosting.Retention) { r.Grace, _ = d.Duration(v, 0, maxGrace) }},
		{Name: "max_per_tenant", Read: func(d *decoder, v value, r *hosting.Retention) { r.MaxPerTenant, _ = d.Integer(v, 0, maxRetained) }},
		{Name: "max_tenant_mb", Read: func(d *decoder, v value, r *hosting.Retention) { r.MaxTenantMB = d.megabytes(v) }},
		{Name: "max_total_mb", Read: func(d *decoder, v value, r *hosting.Retention) { r.MaxTotalMB = d.megabytes(v) }},
	}
}

func timingFields() []field[hosting.Timing] {
	at := func(name string, of func(*hosting.Timing) *time.Duration) field[hosting.Timing] {
		return field[hosting.Timing]{Name: name, Read: func(d *decoder, v value, t *hosting.Timing) {
			*of(t), _ = d.Duration(v, minTime, maxTime)
		}}
	}
	return []field[hosting.Timing]{
		at("provision", func(t *hosting.Timing) *time.Duration { return &t.Provision }),
		at("replace", func(t *hosting.Timing) *time.Duration { return &t.Replace }),
		at("rollback", func(t *hosting.Timing) *time.Duration { return &t.Rollback }),
		at("recheck", func(t *hosting.Timing) *time.Duration { return &t.Recheck }),
		at("watchdog", func(t *hosting.Timing) *time.Duration { return &t.Watchdog }),
		at("reap", func(t *hosting.Timing) *time.Duration { return &t.Reap }),
	}
}

func readProfiles(d *decoder, v value, f *draft) {
	d.Pairs(v, func(key *yaml.Node, v value) {
		p := sku.Profile{Name: key.Value}
		yamlfile.Section(d, v, []field[sku.Profile]{
			{Name: "cpu_cores", Required: true, Read: func(d *decoder, v value, p *sku.Profile) { p.CPUCores = d.number(v) }},
			{Name: "memory_mb", Required: true, Read: func(d *decoder, v value, p *sku.Profile) { p.MemoryMB = d.megabytes(v) }},
			{Name: "disk_mb", Read: func(d *decoder, v value, p *sku.Profile) { p.DiskMB = d.megabytes(v) }},
		}, &p)
		f.skus.Profiles = append(f.skus.Profiles, p)
	})
}

func readMapping(d *decoder, v value, f *draft) {
	d.Pairs(v, func(key *yaml.Node, v value) {
		if profile, ok := d.Str(v); ok {
			f.skus.Mapping = append(f.skus.Mapping, sku.Mapping{SKU: key.Value, Profile: profile})
		}
	})
}

func readRegistries(d *decoder, v value, f *draft) {
	d.Items(v, "[docker.io, ghcr.io]", func(i int, item value) {
		if i == maxRegistry {
			d.Refuse(item, "there are too many registries", "the most is 100")
		}
		if text, ok := d.Str(item); ok && i < maxRegistry {
			f.registries = append(f.registries, text)
		}
	})
}
