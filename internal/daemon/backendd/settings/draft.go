package settings

import (
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// decoder reads one file.
type decoder struct {
	yamlfile.Decoder
	dir string
}

type (
	value        = yamlfile.Value
	field[T any] = yamlfile.Field[*decoder, T]
)

// draft is a file while it is read.
type draft struct {
	Settings
	secretFile, previousFile, callbackFile string
	said                                   *tlsDraft // under tls
	skus                                   sku.Config
	registries                             []string
}

// tlsDraft is what stands under tls.
type tlsDraft struct{ certFile, keyFile, clientCAFile string }

const least = "a name, a secret_file, sku_profiles, sku_mapping, total_cpu_cores, total_memory_mb and allowed_registries"

// missing says what to write for a key that is required.
func missing(key string) string {
	switch key {
	case "name":
		return "name the backend, for example: name: docker-1"
	case "secret_file":
		return "name a file that has the secret of requests, 32 bytes or more, and that only its owner can read"
	case "sku_profiles":
		return "write at least one, for example: {micro: {cpu_cores: 0.25, memory_mb: 256}}"
	case "sku_mapping":
		return "write which SKU is which profile, for example: {a1b2c3d4-e5f6-7890-abcd-1234567890ab: micro}"
	case "allowed_registries":
		return "write from where tenants may run images, for example: [docker.io, ghcr.io]"
	case "total_cpu_cores", "total_memory_mb":
		return "write how much of it all leases may hold together"
	case "wildcard_domain":
		return "write the domain below which leases have their names, leases.example.org for example"
	case "control":
		return "write the control socket of the data plane, /run/berth/ingress.sock for example"
	}
	return "write it"
}

// others are names by which keys are known elsewhere.
var others = map[string]string{
	"listen_addr": "listen", "address": "listen", "addr": "listen", "hmac_secret": "secret_file", "secret": "secret_file",
	"callback_secret": "callback_secret_file", "docker_host": "docker", "host_address": "host", "network_subnet": "network_pool",
	"registries": "allowed_registries", "skus": "sku_mapping", "profiles": "sku_profiles", "old_secret_file": "previous_secret_file",
	"retention_max_age": "retention.grace", "max_age": "grace", "cpus": "cpu_cores", "cpu": "cpu_cores", "memory": "memory_mb", "disk": "disk_mb",
	"wildcard": "wildcard_domain", "socket": "control", "dns": "dns_gate", "ca_file": "client_ca_file",
}

func unknown(_, key string) (hint, notYet string) {
	if name, ok := others[key]; ok {
		return "the key is " + name, ""
	}
	return "", ""
}
