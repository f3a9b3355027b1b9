package provider_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// paths are where an error sees problems, sorted; none is a nil error.
func paths(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var v *provider.ValidationError
	if !errors.As(err, &v) || !errors.Is(err, provider.ErrInvalid) {
		t.Fatalf("%v is no ValidationError", err)
	}
	var out []string
	for _, p := range v.Problems {
		out = append(out, p.Path)
	}
	slices.Sort(out)
	return out
}

func wantPaths(t *testing.T, err error, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := paths(t, err); !slices.Equal(got, want) {
		t.Errorf("problems at %q, want %q: %v", got, want, err)
	}
}

// good is a workload with something of everything.
func good() provider.ProvisionRequest {
	return provider.ProvisionRequest{
		InstanceID: id.New(id.KindWorkload), TenantID: "acme", Name: "shop", Network: "shared", Kind: provider.KindStatefulSet,
		Labels:  map[string]string{"team": "web"},
		Rollout: &provider.RolloutSpec{MaxSurge: "1", MaxUnavailable: "50%", ReadyTimeout: time.Minute, StableWindow: time.Second},
		Services: []provider.ServiceSpec{
			{
				Name: "web", Image: "registry.example:5000/shop/web:1.4@sha256:0123", DependsOn: []string{"proxy"},
				Resources:   provider.ResourceSpec{CPUMillis: 500, MemoryMB: 256, Replicas: 2},
				Env:         map[string]string{"PORT": "8080", "_a.b-c": "x y"},
				Ports:       []provider.PortSpec{{Container: 8080, Host: 80, Protocol: "http", Public: true, Domains: []string{"shop.example", "*.shop.example"}, TLS: &provider.TLSSpec{Secret: "shop/tls"}}, {Container: 53, Protocol: "udp"}},
				Volumes:     []provider.VolumeSpec{{Name: "data", MountPath: "/var/lib/web", SizeMB: 100}, {Name: "kept", MountPath: "/kept", IDs: []string{"shop-0", "shop-1", "shop-2"}}},
				HealthCheck: &provider.HealthCheckSpec{Path: "/healthz", ExpectedStatus: 204}, Liveness: &provider.HealthCheckSpec{Exec: []string{"check"}},
				Secrets: []provider.SecretRef{
					{Key: "db/password", EnvKey: "DB_PASSWORD"}, {Key: "token", Type: secrets.SecretFile}, {Key: "pull", Type: secrets.SecretRegistry}, {Key: "cert", Type: secrets.SecretTLS, Path: "/etc/tls"},
				},
				ConfigFiles: []provider.ConfigFile{{Name: "app", Path: "/etc/app/app.yaml", Format: "yaml", Content: "a: 1"}, {Name: "nested", Path: "/var/lib/web/conf/x", Key: "x", Version: 3}},
				Annotations: map[string]string{"example.com/owner": "web team"},
				Security:    &provider.SecuritySpec{PidsLimit: 100, ReadOnlyRootFS: true, CapAdd: []string{"NET_RAW"}, CapDrop: []string{"ALL"}},
				User:        "1000:1000", WorkingDir: "/", Tmpfs: []provider.TmpfsSpec{{MountPath: "/tmp", SizeMB: 16}}, Init: true, StopGrace: time.Minute, StopSignal: "SIGQUIT",
			},
			{Name: "migrate", Image: "web", Role: provider.RoleInit, Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/data", SizeMB: 100}}},
			{Name: "proxy", Image: "proxy", Role: provider.RoleSidecar, DependsOn: []string{"migrate"}, Ports: []provider.PortSpec{{Container: 53}, {Container: 9000, Host: 80, Protocol: "udp"}}, Resources: provider.ResourceSpec{Replicas: 2}},
			{Name: "logs", Image: "logs", Role: provider.RoleSidecar, DependsOn: []string{"web"}, Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/data", SizeMB: 100, ReadOnly: true}}},
		},
	}
}

func TestAGoodRequestIsValid(t *testing.T) {
	wantPaths(t, good().Validate())
	wantPaths(t, provider.ValidateServices([]provider.ServiceSpec{{Name: "a", Image: "b"}}))
}

func TestNamesAreAsLongAsALabelOfDNS(t *testing.T) {
	r := good()
	long := strings.Repeat("a", provider.MaxServiceNameLength)
	r.Name, r.Services[3].Name = long[:provider.MaxStatefulNameLength], long
	wantPaths(t, r.Validate())
	r.Kind, r.Name, r.Services[0].Resources.Replicas, r.Services[2].Resources.Replicas = provider.KindDeployment, long, 1, 0
	r.Services[0].Volumes = r.Services[0].Volumes[:1]
	wantPaths(t, r.Validate())
}

func TestEveryRuleOfServices(t *testing.T) {
	type svc = provider.ServiceSpec
	type req = provider.ProvisionRequest
	main := func(change func(*svc)) func(*req) { return func(r *req) { change(&r.Services[0]) } }
	portOf := func(change func(*provider.PortSpec)) func(*req) {
		return main(func(s *svc) { change(&s.Ports[0]) })
	}
	for name, c := range map[string]struct {
		change func(*req)
		want   string // paths under services[0] with "." in front, or whole
	}{
		"no services":               {func(r *req) { r.Services = nil }, "services"},
		"too many services":         {func(r *req) { r.Services = make([]svc, provider.MaxServices+1) }, "services"},
		"no instance":               {func(r *req) { r.InstanceID = id.Nil }, "instance_id"},
		"a tenant with a slash":     {func(r *req) { r.TenantID = "a/b" }, "tenant_id"},
		"an unknown kind":           {func(r *req) { r.Kind = "job" }, "kind .volumes[0] .volumes[1] .volumes[1].ids services[1].volumes[0]"},
		"a shared network, no name": {func(r *req) { r.Name = "" }, "name"},
		"a long name of a workload": {func(r *req) { r.Name = strings.Repeat("a", 64) }, "name"},
		"a long name of replicas":   {func(r *req) { r.Name = strings.Repeat("a", 60) }, "name"},
		"a long main, and no name": {func(r *req) {
			r.Name, r.Network, r.Services[0].Name, r.Services[3].DependsOn[0] = "", "", strings.Repeat("a", 60), strings.Repeat("a", 60)
		}, ".name"},
		"a long name of a network":    {func(r *req) { r.Network = strings.Repeat("a", 41) }, "network"},
		"a long name of a volume":     {main(func(s *svc) { s.Volumes[1].Name = strings.Repeat("a", 41) }), ".volumes[1].name"},
		"a name with spaces":          {func(r *req) { r.Name = "my shop" }, "name"},
		"a network in capitals":       {func(r *req) { r.Network = "Net" }, "network"},
		"a label of ours":             {func(r *req) { r.Labels["berth.instance"] = "x" }, `labels["berth.instance"]`},
		"a label with a comma":        {func(r *req) { r.Labels["a,b"] = "x" }, `labels["a,b"]`},
		"a label of two lines":        {func(r *req) { r.Labels["a"] = "x\ny" }, `labels["a"]`},
		"surge of letters":            {func(r *req) { r.Rollout.MaxSurge = "few" }, "rollout.max_surge"},
		"surge above all":             {func(r *req) { r.Rollout.MaxSurge = "101%" }, "rollout.max_surge"},
		"nothing may move":            {func(r *req) { r.Rollout.MaxSurge, r.Rollout.MaxUnavailable = "0", "0%" }, "rollout"},
		"a negative timeout":          {func(r *req) { r.Rollout.ReadyTimeout = -1 }, "rollout.ready_timeout"},
		"a negative window":           {func(r *req) { r.Rollout.StableWindow = -1 }, "rollout.stable_window"},
		"two mains":                   {func(r *req) { r.Services[3].Role = "" }, "services"},
		"no main":                     {func(r *req) { r.Services = r.Services[1:2] }, "services"},
		"an unknown role":             {func(r *req) { r.Services[3].Role = "job" }, "services[3].role"},
		"one name twice":              {func(r *req) { r.Services[3].Name = "migrate" }, "services[3].name"},
		"another number on a sidecar": {func(r *req) { r.Services[2].Resources.Replicas = 3 }, "services[2].resources.replicas"},
		"too many replicas":           {func(r *req) { r.Services[0].Resources.Replicas, r.Services[2].Resources.Replicas = 1001, 0 }, ".resources.replicas .volumes[1].ids"},
		"ports on an init":            {func(r *req) { r.Services[1].Ports = []provider.PortSpec{{Container: 1}} }, "services[1]"},
		"a check on an init":          {func(r *req) { r.Services[1].HealthCheck = &provider.HealthCheckSpec{Exec: []string{"x"}} }, "services[1]"},
		"a deployment's volume":       {func(r *req) { r.Kind = "" }, ".volumes[0] .volumes[1] .volumes[1].ids services[1].volumes[0]"},
		"two writers in a group":      {func(r *req) { r.Services[3].Volumes[0].ReadOnly = false }, "services[3].volumes[0]"},
		"one volume, two sizes":       {func(r *req) { r.Services[3].Volumes[0].SizeMB = 7 }, "services[3].volumes[0]"},
		"two members on one port":     {func(r *req) { r.Services[2].Ports[0].Container = 8080 }, "services[2].ports[0].container"},
		"one port of the host":        {func(r *req) { r.Services[2].Ports[1].Protocol = "" }, "services[2].ports[1].host"},

		"no name":                   {main(func(s *svc) { s.Name = "" }), ".name services[3].depends_on[0]"},
		"a name in capitals":        {func(r *req) { r.Services[3].Name = "Logs" }, "services[3].name"},
		"a name with a hyphen last": {func(r *req) { r.Services[3].Name = "logs-" }, "services[3].name"},
		"a long name":               {func(r *req) { r.Services[3].Name = strings.Repeat("a", 64) }, "services[3].name"},
		"a name of two lines":       {func(r *req) { r.Services[3].Name = "a\n" }, "services[3].name"},
		"no image":                  {main(func(s *svc) { s.Image = " " }), ".image"},
		"an image like an option":   {main(func(s *svc) { s.Image = "-v" }), ".image"},
		"negative CPU":              {main(func(s *svc) { s.Resources.CPUMillis = -1 }), ".resources.cpu_millis"},
		"negative memory":           {main(func(s *svc) { s.Resources.MemoryMB = -1 }), ".resources.memory_mb"},
		"negative disk":             {main(func(s *svc) { s.Resources.DiskMB = -1 }), ".resources.disk_mb"},
		"too long a list":           {main(func(s *svc) { s.Args = make([]string, provider.MaxEntries+1) }), ".args"},
		"too long a map": {main(func(s *svc) {
			for i := range provider.MaxEntries {
				s.Env[fmt.Sprint("E", i)] = ""
			}
		}), ".env"},
		"negative replicas":         {func(r *req) { r.Services[0].Resources.Replicas, r.Services[2].Resources.Replicas = -1, 0 }, ".resources.replicas"},
		"a variable with =":         {main(func(s *svc) { s.Env["A=B"] = "" }), ".env"},
		"a variable without a name": {main(func(s *svc) { s.Env[""] = "" }), ".env"},
		"a variable with a digit":   {main(func(s *svc) { s.Env["1A"] = "" }), ".env"},
		"a NUL in a variable":       {main(func(s *svc) { s.Env["A"] = "\x00" }), ".env"},
		"an annotation of ours":     {main(func(s *svc) { s.Annotations["berth.x"] = "" }), `.annotations["berth.x"]`},
		"an empty command word":     {main(func(s *svc) { s.Command = []string{"a", ""} }), ""},
		"a NUL in an argument":      {main(func(s *svc) { s.Args = []string{"a", "\x00"} }), ".args[1]"},
		"a user with a space":       {main(func(s *svc) { s.User = "a b" }), ".user"},
		"a relative directory":      {main(func(s *svc) { s.WorkingDir = "a" }), ".working_dir"},
		"no signal":                 {main(func(s *svc) { s.StopSignal = "quit" }), ".stop_signal"},
		"a negative grace":          {main(func(s *svc) { s.StopGrace = -1 }), ".stop_grace"},
		"a capability with CAP_":    {main(func(s *svc) { s.Security.CapAdd[0] = "CAP_NET_RAW" }), ".security.cap_add[0]"},
		"no capability":             {main(func(s *svc) { s.Security.CapDrop[0] = "all" }), ".security.cap_drop[0]"},

		"port 0":                 {portOf(func(p *provider.PortSpec) { p.Container = 0 }), ".ports[0].container"},
		"port 65536":             {portOf(func(p *provider.PortSpec) { p.Container = 65536 }), ".ports[0].container"},
		"host port -1":           {portOf(func(p *provider.PortSpec) { p.Host = -1 }), ".ports[0].host"},
		"another protocol":       {portOf(func(p *provider.PortSpec) { p.Protocol = "sctp" }), ".ports[0].protocol"},
		"no address":             {portOf(func(p *provider.PortSpec) { p.BindAddress, p.Public = "localhost", false }), ".ports[0].bind_address"},
		"public on one address":  {portOf(func(p *provider.PortSpec) { p.BindAddress = "10.0.0.1" }), ".ports[0].bind_address"},
		"all, but not public":    {portOf(func(p *provider.PortSpec) { p.BindAddress, p.Public = "0.0.0.0", false }), ".ports[0].bind_address"},
		"all, and public":        {portOf(func(p *provider.PortSpec) { p.BindAddress = "::" }), ""},
		"no domain":              {portOf(func(p *provider.PortSpec) { p.Domains[0] = "Shop.example" }), ".ports[0].domains[0]"},
		"domains on UDP":         {portOf(func(p *provider.PortSpec) { p.Protocol = "udp" }), ".ports[0].domains .health_check.port services[2].ports[1].host"},
		"TLS without domains":    {portOf(func(p *provider.PortSpec) { p.Domains = nil }), ".ports[0].tls"},
		"TLS of no secret's key": {portOf(func(p *provider.PortSpec) { p.TLS.Secret = "a b" }), ".ports[0].tls.secret"},

		"two kinds of probe":       {main(func(s *svc) { s.HealthCheck.GRPC = &provider.GRPCCheck{} }), ".health_check"},
		"a relative probe":         {main(func(s *svc) { s.HealthCheck.Path = "healthz" }), ".health_check.path"},
		"no HTTP status":           {main(func(s *svc) { s.HealthCheck.ExpectedStatus = 99 }), ".health_check.expected_status"},
		"a status without a path":  {main(func(s *svc) { s.HealthCheck.Path = "" }), ".health_check.expected_status"},
		"a probe of no port":       {main(func(s *svc) { s.HealthCheck.Port = 65536 }), ".health_check.port"},
		"a probe, no ports":        {func(r *req) { r.Services[0].Ports = nil }, ".health_check.port"},
		"a port beside exec":       {main(func(s *svc) { s.Liveness.Port = 1 }), ".liveness.port"},
		"a negative interval":      {main(func(s *svc) { s.Liveness.Interval = -1 }), ".liveness.interval"},
		"a negative probe timeout": {main(func(s *svc) { s.Liveness.Timeout = -1 }), ".liveness.timeout"},
		"a negative start period":  {main(func(s *svc) { s.Liveness.StartPeriod = -1 }), ".liveness.start_period"},
		"negative retries":         {main(func(s *svc) { s.Liveness.Retries = -1 }), ".liveness.retries"},
		"an empty check is none":   {func(r *req) { r.Services[1].HealthCheck = &provider.HealthCheckSpec{} }, ""},

		"a volume in capitals": {main(func(s *svc) { s.Volumes[0].Name = "Data" }), ".volumes[0].name"},
		"a volume twice": {main(func(s *svc) {
			s.Volumes = append(s.Volumes, provider.VolumeSpec{Name: "data", MountPath: "/b", SizeMB: 100})
		}), ".volumes[2].name"},
		"a relative mount":          {main(func(s *svc) { s.Volumes[0].MountPath = "data" }), ".volumes[0].mount_path"},
		"a mount on /":              {main(func(s *svc) { s.Volumes[0].MountPath = "/" }), ".volumes[0].mount_path"},
		"a mount in /proc":          {main(func(s *svc) { s.Volumes[0].MountPath = "/proc/x" }), ".volumes[0].mount_path"},
		"a mount with dots":         {main(func(s *svc) { s.Volumes[0].MountPath = "/a/../b" }), ".volumes[0].mount_path"},
		"a mount with a colon":      {main(func(s *svc) { s.Volumes[0].MountPath = "/a:b" }), ".volumes[0].mount_path"},
		"a mount with a slash last": {main(func(s *svc) { s.Volumes[0].MountPath = "/a/" }), ".volumes[0].mount_path"},
		"two mounts on one path":    {main(func(s *svc) { s.Tmpfs[0].MountPath = "/var/lib/web" }), ".tmpfs[0].mount_path"},
		"a negative tmpfs":          {main(func(s *svc) { s.Tmpfs[0].SizeMB = -1 }), ".tmpfs[0].size_mb"},
		"a negative volume": {func(r *req) {
			for i := range r.Services {
				for j := range r.Services[i].Volumes {
					r.Services[i].Volumes[j].SizeMB = -1
				}
			}
		}, ".volumes[0].size_mb .volumes[1].size_mb services[1].volumes[0].size_mb services[3].volumes[0].size_mb"},

		"ids without a tenant": {func(r *req) { r.TenantID = "" }, "tenant_id"},
		"an id in capitals":    {main(func(s *svc) { s.Volumes[1].IDs[2] = "Shop" }), ".volumes[1].ids[2]"},
		"an empty id":          {main(func(s *svc) { s.Volumes[1].IDs[0] = "" }), ".volumes[1].ids[0]"},
		"a long id":            {main(func(s *svc) { s.Volumes[1].IDs[0] = strings.Repeat("x", 64) }), ".volumes[1].ids[0]"},
		"a path for an id":     {main(func(s *svc) { s.Volumes[1].IDs[0] = "../x" }), ".volumes[1].ids[0]"},
		"too few ids":          {main(func(s *svc) { s.Volumes[1].IDs = s.Volumes[1].IDs[:1] }), ".volumes[1].ids"},
		"too many ids":         {main(func(s *svc) { s.Volumes[1].IDs = make([]string, provider.MaxReplicas+1) }), ".volumes[1].ids"},
		"one id twice":         {main(func(s *svc) { s.Volumes[1].IDs[1] = "shop-0" }), ".volumes[1].ids[1]"},
		"one id in two volumes": {main(func(s *svc) {
			s.Volumes = append(s.Volumes, provider.VolumeSpec{Name: "other", MountPath: "/other", IDs: []string{"x", "shop-2"}})
		}), ".volumes[2].ids[1]"},
		"other ids of one volume": {func(r *req) {
			r.Services[3].Volumes = append(r.Services[3].Volumes, provider.VolumeSpec{Name: "kept", MountPath: "/k", ReadOnly: true, IDs: []string{"a", "b"}})
		}, "services[3].volumes[1]"},
		"a negative bound of pids": {main(func(s *svc) { s.Security.PidsLimit = -1 }), ".security.pids_limit"},

		"no secret's key":            {main(func(s *svc) { s.Secrets[0].Key = "../x" }), ".secrets[0].key"},
		"no secret's type":           {main(func(s *svc) { s.Secrets[0].Type = "vault" }), ".secrets[0].type"},
		"a negative version":         {main(func(s *svc) { s.Secrets[0].Version = -1 }), ".secrets[0].version"},
		"a variable of a file":       {main(func(s *svc) { s.Secrets[1].EnvKey = "A" }), ".secrets[1].env_key"},
		"a path of a variable":       {main(func(s *svc) { s.Secrets[0].Path = "/a/b" }), ".secrets[0].path"},
		"a secret's variable in env": {main(func(s *svc) { s.Env["DB_PASSWORD"] = "" }), ".secrets[0]"},
		"two secrets, one variable":  {main(func(s *svc) { s.Secrets = append(s.Secrets, provider.SecretRef{Key: "db.password"}) }), ".secrets[4]"},
		"a secret's bad variable":    {main(func(s *svc) { s.Secrets[0].EnvKey = "1" }), ".secrets[0].env_key"},
		"two files on one path":      {main(func(s *svc) { s.Secrets[1].Path = "/etc/app/app.yaml" }), ".config_files[0].path"},
		"a file in a mount":          {main(func(s *svc) { s.ConfigFiles[0].Path = "/tmp/app.yaml" }), ".config_files[0].path"},
		"a file in /":                {main(func(s *svc) { s.ConfigFiles[0].Path = "/app.yaml" }), ".config_files[0].path"},
		"a file on a mount":          {main(func(s *svc) { s.ConfigFiles[0].Path = "/tmp" }), ".config_files[0].path"},
		"a file in a file":           {main(func(s *svc) { s.ConfigFiles[0].Path = "/run/secrets/token/x" }), ".config_files[0].path"},
		"a mount in a file":          {main(func(s *svc) { s.Tmpfs[0].MountPath = "/run/secrets/token/x/y" }), ".tmpfs[0].mount_path"},
		"two configs of one name":    {main(func(s *svc) { s.ConfigFiles[1].Name = "app" }), ".config_files[1].name"},
		"another format":             {main(func(s *svc) { s.ConfigFiles[0].Format = "toml" }), ".config_files[0].format"},
		"a large config":             {main(func(s *svc) { s.ConfigFiles[0].Content = strings.Repeat("x", provider.MaxConfigFileSize+1) }), ".config_files[0].content"},
		"content and key":            {main(func(s *svc) { s.ConfigFiles[0].Key = "x" }), ".config_files[0].key"},
		"no key of a config":         {main(func(s *svc) { s.ConfigFiles[1].Key = "a b" }), ".config_files[1].key"},
		"a version without a key":    {main(func(s *svc) { s.ConfigFiles[0].Version = 1 }), ".config_files[0].version"},

		"an unknown dependency": {func(r *req) { r.Services[3].DependsOn[0] = "nobody" }, "services[3].depends_on[0]"},
		"on itself":             {func(r *req) { r.Services[3].DependsOn[0] = "logs" }, "services[3].depends_on[0]"},
		"on one twice":          {func(r *req) { r.Services[3].DependsOn = []string{"web", "web"} }, "services[3].depends_on[1]"},
		"an init on main":       {func(r *req) { r.Services[1].DependsOn = []string{"web"} }, "services[1].depends_on[0]"},
		"a circle of two":       {func(r *req) { r.Services[2].DependsOn = []string{"web"} }, "services[0].depends_on"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			c.change(&r)
			want := strings.Fields(c.want)
			for i, path := range want {
				if path[0] == '.' {
					want[i] = "services[0]" + path
				}
			}
			wantPaths(t, r.Validate(), want...)
		})
	}
}

func TestAllProblemsComeAtOnceAndQuoteNoValue(t *testing.T) {
	r := good()
	r.InstanceID, r.Services[0].Name, r.Services[2].Ports[0].Container = id.Nil, "WEB", 70000
	r.Services[0].Env["BAD=NAME"] = "canary-41"
	r.Services[0].ConfigFiles[0].Format, r.Services[0].ConfigFiles[0].Content = "x", "canary-41"
	err := r.Validate()
	if got := paths(t, err); len(got) < 5 {
		t.Errorf("only %q", got)
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the error holds a value: %v", err)
	}
}

func TestAHostileRequestGetsABoundedAnswer(t *testing.T) {
	r := good()
	for range 5000 {
		r.Services[0].Ports = append(r.Services[0].Ports, provider.PortSpec{Protocol: strings.Repeat("x", 10_000)})
	}
	if text := r.Validate().Error(); len(text) > 50_000 {
		t.Errorf("the error has %d bytes", len(text))
	}
}

func TestCirclesAreFoundWhereverTheyAre(t *testing.T) {
	side := func(name string, on ...string) provider.ServiceSpec {
		return provider.ServiceSpec{Name: name, Image: "i", Role: provider.RoleSidecar, DependsOn: on}
	}
	err := provider.ValidateServices([]provider.ServiceSpec{{Name: "web", Image: "i"}, side("a", "b"), side("b", "c"), side("c", "a"), side("d", "a")})
	wantPaths(t, err, "services[1].depends_on")
	if !strings.Contains(err.Error(), `"a", "b", "c", and "a" again`) {
		t.Errorf("the error does not show the circle: %v", err)
	}
}

func TestStartOrder(t *testing.T) {
	svc := func(name string, role provider.ServiceRole, on ...string) provider.ServiceSpec {
		return provider.ServiceSpec{Name: name, Image: "i", Role: role, DependsOn: on}
	}
	for want, services := range map[string][]provider.ServiceSpec{
		"web":                 {svc("web", "")},
		"i1 i2 web s1 s2":     {svc("s1", "sidecar"), svc("i1", "init"), svc("web", "main"), svc("s2", "sidecar"), svc("i2", "init")},
		"i2 i1 web":           {svc("web", "main"), svc("i1", "init", "i2"), svc("i2", "init")},
		"init proxy web logs": {svc("logs", "sidecar"), svc("web", "", "proxy"), svc("proxy", "sidecar"), svc("init", "init")},
		"b a web":             {svc("web", "", "a"), svc("a", "sidecar", "b"), svc("b", "sidecar")},
		"web b a":             {svc("a", "sidecar", "b"), svc("b", "sidecar", "web"), svc("web", "")},
		"i web a":             {svc("a", "sidecar", "i"), svc("web", "", "i"), svc("i", "init")},
	} {
		got, err := provider.StartOrder(services)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("the order is %q, %v, want %q", got, err, want)
		}
	}
	for _, bad := range [][]provider.ServiceSpec{
		{svc("a", "", "b"), svc("b", "sidecar", "a")}, {svc("a", "", "nobody")}, {svc("a", ""), svc("a", "sidecar")},
	} {
		if got, err := provider.StartOrder(bad); !errors.Is(err, provider.ErrInvalid) || got != nil {
			t.Errorf("StartOrder of nonsense: %q, %v", got, err)
		}
	}
}

func goodDeploy() provider.DeployRequest {
	return provider.DeployRequest{InstanceID: id.New(id.KindWorkload), ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{
		{Name: "web", Image: "web:2", HealthCheck: &provider.HealthCheckSpec{Path: "/healthz"}}, // its port is in the workload
		{Name: "migrate", Image: "web:2"},
	}}
}

func TestDeployRequests(t *testing.T) {
	wantPaths(t, goodDeploy().Validate())
	for name, c := range map[string]struct {
		change func(*provider.DeployRequest)
		want   []string
	}{
		"no instance":         {func(r *provider.DeployRequest) { r.InstanceID = id.Nil }, []string{"instance_id"}},
		"no release":          {func(r *provider.DeployRequest) { r.ReleaseID = id.Nil }, []string{"release_id"}},
		"an unknown strategy": {func(r *provider.DeployRequest) { r.Strategy = "blue_green" }, []string{"strategy"}},
		"a known strategy":    {func(r *provider.DeployRequest) { r.Strategy = provider.StrategyCanary }, nil},
		"no services":         {func(r *provider.DeployRequest) { r.Services = nil }, []string{"services"}},
		"one twice":           {func(r *provider.DeployRequest) { r.Services[1].Name = "web" }, []string{"services[1].name"}},
		"no image":            {func(r *provider.DeployRequest) { r.Services[1].Image = "" }, []string{"services[1].image"}},
		"a bad user":          {func(r *provider.DeployRequest) { r.Services[1].User = new("a b") }, []string{"services[1].user"}},
		"a bad rollout":       {func(r *provider.DeployRequest) { r.Rollout = &provider.RolloutSpec{MaxSurge: "-1"} }, []string{"rollout.max_surge"}},
		"too many": {func(r *provider.DeployRequest) {
			r.Services = make([]provider.ServiceDeploySpec, provider.MaxServices+1)
		}, []string{"services"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := goodDeploy()
			c.change(&r)
			wantPaths(t, r.Validate(), c.want...)
		})
	}
}

func TestApplyDeploy(t *testing.T) {
	r := good()
	next, err := provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "proxy", Image: "proxy:2", Env: map[string]string{"A": "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if next[2].Image != "proxy:2" || next[2].Env["A"] != "1" || len(next[2].Ports) != 2 || next[2].Role != provider.RoleSidecar {
		t.Errorf("the deployed service is %+v", next[2])
	}
	if r.Services[2].Image != "proxy" || next[0].Image != r.Services[0].Image || !maps.Equal(next[0].Env, r.Services[0].Env) {
		t.Error("a service changed that should not")
	}
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "nobody", Image: "x"}})
	wantPaths(t, err, "services[0].name")
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "proxy", Image: "x", Ports: []provider.PortSpec{{Container: 8080}}}})
	wantPaths(t, err, "services[2].ports[0].container")
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "logs", Image: "x", Volumes: []provider.VolumeSpec{{Name: "data", MountPath: "/d", SizeMB: 100}}}})
	wantPaths(t, err, "services[3].volumes[0]")
}

func TestIDsOfVolumesFollowADeploy(t *testing.T) {
	r := good()
	volumes := func(ids ...string) []provider.VolumeSpec {
		return []provider.VolumeSpec{r.Services[0].Volumes[0], {Name: "kept", MountPath: "/kept", IDs: ids}}
	}
	next, err := provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "web", Image: "x", Volumes: volumes("c", "d")}})
	if err != nil || !slices.Equal(next[0].Volumes[1].IDs, []string{"c", "d"}) {
		t.Errorf("the deployed volumes are %+v, %v", next, err)
	}
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "web", Image: "x", Volumes: volumes("c")}})
	wantPaths(t, err, "services[0].volumes[1].ids")
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "web", Image: "x", Volumes: volumes("shop-0", "shop-2")}})
	wantPaths(t, err, "services[0].volumes[1].ids[1]")
	_, err = provider.ApplyDeploy(r.Kind, r.Services, []provider.ServiceDeploySpec{{Name: "web", Image: "x", Resources: &provider.ResourceSpec{Replicas: 4}}, {Name: "proxy", Image: "x", Resources: &provider.ResourceSpec{Replicas: 4}}})
	wantPaths(t, err, "services[0].volumes[1].ids")
}

func TestVolumesOfAnImageAreCleanAndOnce(t *testing.T) {
	got := provider.ImageVolumes([]string{"/var/lib/x/", "", "data", "/a/../b", "/data", "/", "/a:b"})
	if !slices.Equal(got, []string{"/b", "/data", "/var/lib/x"}) {
		t.Errorf("the volumes are %q", got)
	}
}

func TestScaleSizes(t *testing.T) {
	wantPaths(t, provider.ResourceSpec{}.Validate())
	wantPaths(t, provider.ResourceSpec{Replicas: -1, MemoryMB: -1}.Validate(), "resources.memory_mb", "resources.replicas")
	wantPaths(t, provider.ResourceSpec{Replicas: provider.MaxReplicas + 1}.Validate(), "resources.replicas")
}
