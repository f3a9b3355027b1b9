package settings_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/egress"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
)

const canary = "0123456789-canary-0123456789-canary"

// smallest is a file with nothing in it that may be left out.
const smallest = `name: docker-1
secret_file: a.secret
sku_profiles: {micro: {cpu_cores: 0.25, memory_mb: 256}}
sku_mapping: {a1b2c3d4-e5f6-7890-abcd-1234567890ab: micro}
total_cpu_cores: 8
total_memory_mb: 16384
allowed_registries: [docker.io]
`

// folder has the secrets that files name.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a.secret": 0o600, "b.secret": 0o600, "open.secret": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(canary+name+"\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "short.secret"), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAFileThatSaysLittleHasTheDefaults(t *testing.T) {
	s, err := settings.Parse([]byte(smallest), settings.Options{Dir: folder(t)})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != settings.DefaultListen || s.NetworkPrefix != settings.DefaultNetworkPrefix || s.Workers != settings.DefaultWorkers ||
		s.NetworkPool.String() != settings.DefaultNetworkPool || s.BindAddress.String() != settings.DefaultBindAddress || s.TLS() != nil {
		t.Errorf("%+v", s)
	}
	if i := s.Isolation; !i.Firewall || len(i.AllowPrivate)+len(i.Resolvers) != 0 || !slices.Equal(i.DataPlanePorts, []uint16{80, 443}) {
		t.Errorf("%+v", i)
	}
	if len(s.Requests) != 1 || s.Requests[0].RevealString() != canary+"a.secret" || !s.Callback.Equal(s.Requests[0]) {
		t.Error("the secrets are others than those of the file")
	}
	if s.Retention != (hosting.Retention{Grace: 2160 * time.Hour}) {
		t.Errorf("%+v", s.Retention)
	}
	if s.Egress != (egress.Policy{}) || s.Pool != (pool.Config{Total: sku.Size{MilliCPU: 8000, MemoryMB: 16384}}) {
		t.Errorf("%+v, %+v", s.Egress, s.Pool)
	}
}

func TestEveryKeyArrives(t *testing.T) {
	s, err := settings.Parse([]byte(smallest+`listen: 0.0.0.0:9100
previous_secret_file: b.secret
callback_secret_file: b.secret
docker: unix:///run/engine.sock
network_prefix: leases
network_pool: 10.99.0.0/16
bind_address: 0.0.0.0
host: docker-1.example.org
disk_enforcement: none
total_disk_mb: 4096
tenant_quota: {cpu_cores: 1.5, memory_mb: 512, disk_mb: 7}
egress: {allow_loopback: true, allow_private: true}
timing: {provision: 1m, replace: 2m, rollback: 3m, recheck: 4s, watchdog: 5m, reap: 6m}
retain_on_close: true
retention: {grace: 48h, max_per_tenant: 2, max_tenant_mb: 100, max_total_mb: 1000}
ingress: {wildcard_domain: Leases.example.org, control: ingress.sock, dns_gate: {resolvers: [192.0.2.1, '127.0.0.1:5353'], disabled: true}}
workers: 3
isolation: {firewall: off, allow_private: [10.20.0.0/16, "fd00:20::/32"], resolvers: [10.20.0.2], data_plane_ports: [8080]}
`), settings.Options{Dir: folder(t)})
	if err != nil {
		t.Fatal(err)
	}
	want := hosting.Timing{Provision: time.Minute, Replace: 2 * time.Minute, Rollback: 3 * time.Minute, Recheck: 4 * time.Second, Watchdog: 5 * time.Minute, Reap: 6 * time.Minute}
	kept := hosting.Retention{OnClose: true, Grace: 48 * time.Hour, MaxPerTenant: 2, MaxTenantMB: 100, MaxTotalMB: 1000}
	if s.Retention != kept {
		t.Errorf("%+v", s.Retention)
	}
	if s.Timing != want || s.Workers != 3 || s.Listen != "0.0.0.0:9100" || s.Docker != "unix:///run/engine.sock" || s.NetworkPrefix != "leases" ||
		s.NetworkPool != netip.MustParsePrefix("10.99.0.0/16") || s.BindAddress != netip.IPv4Unspecified() || s.Host != "docker-1.example.org" {
		t.Errorf("%+v", s)
	}
	isolation := settings.Isolation{
		AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16"), netip.MustParsePrefix("fd00:20::/32")},
		Resolvers:    []netip.Addr{netip.MustParseAddr("10.20.0.2")}, DataPlanePorts: []uint16{8080},
	}
	if !reflect.DeepEqual(s.Isolation, isolation) {
		t.Errorf("%+v", s.Isolation)
	}
	if s.Pool.Total.DiskMB != 4096 || s.Pool.TenantQuota != (sku.Size{MilliCPU: 1500, MemoryMB: 512, DiskMB: 7}) || s.Egress != (egress.Policy{AllowLoopback: true, AllowPrivate: true}) {
		t.Errorf("%+v, %+v", s.Pool, s.Egress)
	}
	if g := s.Ingress; g == nil || g.WildcardDomain != "leases.example.org" || !filepath.IsAbs(g.Control) || filepath.Base(g.Control) != "ingress.sock" || !g.Gate.Disabled ||
		fmt.Sprint(g.Gate.Resolvers) != "[192.0.2.1:53 127.0.0.1:5353]" {
		t.Errorf("%+v", g)
	}
	if len(s.Requests) != 2 || s.Callback.RevealString() != canary+"b.secret" {
		t.Error("the secrets are others than those of the files")
	}
}

func TestWhatIsWrongIsSaidWithItsLine(t *testing.T) {
	dir := folder(t)
	for name, c := range map[string]struct{ old, new, says string }{
		"empty":               {smallest, "", "write at least a name"},
		"no name":             {"name: docker-1", "", "name is missing"},
		"name":                {"docker-1", "'a b'", `name: "a b" is not a name`},
		"key":                 {"name:", "nam:", "did you mean name?"},
		"secret in the file":  {"secret_file", "secret", "the key is secret_file"},
		"no such secret":      {"a.secret", "none.secret", "/none.secret: no such file or directory; make one with: (umask 077; head -c 32 /dev/urandom | base64 > /"},
		"secret of all":       {"a.secret", "open.secret", "others could read or change the file: it has mode 0644 and has to have 0600; run: chmod 600 /"},
		"short secret":        {"a.secret", "short.secret", "the least is 32"},
		"profile too small":   {"0.25", "0", "3:35: sku_profiles.micro.cpu_cores: is 0"},
		"cores":               {"0.25", "many", `"many" is not a number`},
		"mapping":             {": micro}", ": micro, b1b2c3d4-e5f6-7890-abcd-1234567890ab: none}", "which is no profile"},
		"SKU":                 {"a1b2c3d4-e5f6-7890-abcd-1234567890ab", "gold", "is not a UUID"},
		"total":               {"total_memory_mb: 16384", "total_memory_mb: 0", "total_memory_mb: is not above 0"},
		"registry":            {"[docker.io]", "[docker.io/library]", "allowed_registries: not the domain of a registry"},
		"no registry":         {"allowed_registries: [docker.io]", "", "allowed_registries is missing"},
		"listen":              {"name: docker-1", "name: docker-1\nlisten: here", `listen: "here" is not an address`},
		"pool":                {"name: docker-1", "name: docker-1\nnetwork_pool: 10.0.0.0/28", "is not a pool of networks"},
		"bind":                {"name: docker-1", "name: docker-1\nbind_address: eth0", "is not an address of this machine"},
		"host":                {"name: docker-1", "name: docker-1\nhost: a/b", "is not the name of a host"},
		"engine":              {"name: docker-1", "name: docker-1\ndocker: /run/docker.sock", "is not the address of an engine"},
		"disk":                {"memory_mb: 256}", "memory_mb: 256, disk_mb: 1}", "promises a disk"},
		"enforcement":         {"name: docker-1", "name: docker-1\ndisk_enforcement: xfs", `is "xfs"`},
		"time":                {"name: docker-1", "name: docker-1\ntiming: {recheck: 1ms}", "1ms is out of range"},
		"workers":             {"name: docker-1", "name: docker-1\nworkers: 0", "is out of range"},
		"quota":               {"name: docker-1", "name: docker-1\ntenant_quota: {cpu_cores: -1}", "the number is negative"},
		"TLS without a key":   {"name: docker-1", "name: docker-1\ntls: {cert_file: a.pem}", "key_file is missing"},
		"TLS without files":   {"name: docker-1", "name: docker-1\ntls: {cert_file: a.pem, key_file: a.key}", "a.pem: no such file"},
		"retention":           {"name: docker-1", "name: docker-1\nretention: 1h", "retention: this is"},
		"grace":               {"name: docker-1", "name: docker-1\nretention: {grace: -1h}", "retention.grace"},
		"retained leases":     {"name: docker-1", "name: docker-1\nretention: {max_per_tenant: -1}", "is out of range"},
		"retain":              {"name: docker-1", "name: docker-1\nretain_on_close: maybe", "not true or false"},
		"retention of more":   {"name: docker-1", "name: docker-1\nretention: {count: 1}", "count"},
		"firewall":            {"name: docker-1", "name: docker-1\nisolation: {firewall: perhaps}", `"perhaps" is neither on nor off`},
		"allowed address":     {"name: docker-1", "name: docker-1\nisolation: {allow_private: [10.0.0.1/8]}", `"10.0.0.1/8" is not a prefix`},
		"allowed metadata":    {"name: docker-1", "name: docker-1\nisolation: {allow_private: [169.254.169.254/32]}", "never reached by leases"},
		"resolver":            {"name: docker-1", "name: docker-1\nisolation: {resolvers: [127.0.0.53]}", "is not the address of a resolver"},
		"data plane port":     {"name: docker-1", "name: docker-1\nisolation: {data_plane_ports: [0]}", "is out of range"},
		"isolation":           {"name: docker-1", "name: docker-1\nisolation: {iptables: on}", "iptables"},
		"ingress of nothing":  {"name: docker-1", "name: docker-1\ningress: {control: a.sock}", "wildcard_domain is missing"},
		"no data plane":       {"name: docker-1", "name: docker-1\ningress: {wildcard_domain: a.example}", "control is missing"},
		"wildcard":            {"name: docker-1", "name: docker-1\ningress: {wildcard_domain: '*.example.org', control: a.sock}", "without *."},
		"name server":         {"name: docker-1", "name: docker-1\ningress: {wildcard_domain: a.example, control: a.sock, dns_gate: {resolvers: [dns.example]}}", "is not the address of a resolver"},
		"resolver twice":      {"name: docker-1", "name: docker-1\ningress: {wildcard_domain: a.example, control: a.sock, dns_gate: {resolvers: [192.0.2.1, 192.0.2.1]}}", "is there twice"},
		"gate of something":   {"name: docker-1", "name: docker-1\ningress: {wildcard_domain: a.example, control: a.sock, dns_gate: {server: 192.0.2.1}}", "server"},
		"egress of something": {"name: docker-1", "name: docker-1\negress: {allow_all: true}", "allow_all"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(smallest, c.old) {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := settings.Parse([]byte(strings.Replace(smallest, c.old, c.new, 1)), settings.Options{Dir: dir})
			if !errors.Is(err, settings.ErrInvalid) {
				t.Fatalf("it is taken: %v", err)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %q", err, c.says)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("a secret is in %v", err)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n != 1 {
				t.Errorf("%d lines for one fault:\n%v", n, err)
			}
		})
	}
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	_, err := settings.Parse([]byte(`name: '-'
secret_file: none
sku_profiles: {micro: {cpu_cores: 0, memory_mb: 0}}
sku_mapping: {x: micro}
total_cpu_cores: 0
total_memory_mb: 0
allowed_registries: ['']
listen: x
surplus: 1
`), settings.Options{Dir: folder(t)})
	for _, says := range []string{"1:7: name", "2:14: secret_file", "cpu_cores", "memory_mb", "is not a UUID", "total_cpu_cores", "total_memory_mb", "7:21: allowed_registries", "8:9: listen", "9:1: surplus"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v\nhas no %q", err, says)
		}
	}
}

func TestTheExampleIsGoodAndTheReferenceHasEveryKey(t *testing.T) {
	source, err := os.ReadFile("../../../../packaging/backend/backend.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "backend.secret"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Parse(source, settings.Options{Dir: dir}); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile("../../../../docs/reference/daemons.md")
	if err != nil {
		t.Fatal(err)
	}
	_, err = settings.Parse([]byte("zzzzzzzzzzzzzzzzzzzzz: 1"), settings.Options{Dir: dir})
	keys := regexp.MustCompile(`the keys here are (.*)`).FindStringSubmatch(fmt.Sprint(err))
	if len(keys) == 0 {
		t.Fatalf("no key is named in %v", err)
	}
	for _, key := range strings.Split(keys[1], ", ") {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/reference/daemons.md does not have %s", key)
		}
	}
}

func TestNothingThatIsPrintedHasASecret(t *testing.T) {
	s, err := settings.Parse([]byte(smallest), settings.Options{Dir: folder(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if text := fmt.Sprintf(verb, *s); strings.Contains(text, "canary") {
			t.Errorf("%s: %s", verb, text)
		}
	}
}
