package dockerprovider

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

var update = flag.Bool("update", false, "rewrite the table of fields in the documentation")

const tableFile = "../../docs/reference/provider-fields.md"

func TestTableOfFieldsIsTheOneThatIsDocumented(t *testing.T) {
	if *update {
		if err := os.WriteFile(tableFile, []byte(translate.Table()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != translate.Table() {
		t.Errorf("%s is not the table; run the test with -update", tableFile)
	}
}

// requests are the structs that callers fill in.
var requests = []reflect.Type{
	reflect.TypeFor[provider.ProvisionRequest](), reflect.TypeFor[provider.ServiceSpec](), reflect.TypeFor[provider.ResourceSpec](),
	reflect.TypeFor[provider.PortSpec](), reflect.TypeFor[provider.TLSSpec](), reflect.TypeFor[provider.VolumeSpec](),
	reflect.TypeFor[provider.TmpfsSpec](), reflect.TypeFor[provider.HealthCheckSpec](), reflect.TypeFor[provider.GRPCCheck](),
	reflect.TypeFor[provider.SecretRef](), reflect.TypeFor[provider.ConfigFile](), reflect.TypeFor[provider.SecuritySpec](),
	reflect.TypeFor[provider.RolloutSpec](), reflect.TypeFor[provider.DeployRequest](), reflect.TypeFor[provider.LogOptions](),
	reflect.TypeFor[provider.ExecRequest](),
}

// jsonName is a field's name, also of one that is not in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" || name == "-" {
		return strings.ToLower(f.Name)
	}
	return name
}

func TestEveryFieldOfARequestIsInTheTable(t *testing.T) {
	fates := map[string]translate.Fate{}
	for _, f := range translate.Fields() {
		if _, twice := fates[f.Name]; twice || f.How == "" {
			t.Errorf("%s is in the table twice, or says nothing", f.Name)
		}
		fates[f.Name] = f.Fate
	}
	seen := 0
	for _, request := range requests {
		for i := range request.NumField() {
			name := request.Name() + "." + jsonName(request.Field(i))
			if _, ok := fates[name]; !ok {
				t.Errorf("the table lacks %s", name)
			}
			seen++
		}
	}
	if seen != len(fates) {
		t.Errorf("the requests have %d fields, and the table %d", seen, len(fates))
	}
	services := map[string]bool{}
	for i := range requests[1].NumField() {
		services[jsonName(requests[1].Field(i))] = true
	}
	deploy := reflect.TypeFor[provider.ServiceDeploySpec]()
	for i := range deploy.NumField() {
		if name := jsonName(deploy.Field(i)); !services[name] {
			t.Errorf("a deploy has the field %s, which is none of a service", name)
		}
	}
}

// sets give a field another value than it has in the usual request.
var sets = map[string]func(*provider.ProvisionRequest){
	"ProvisionRequest.instance_id": func(q *provider.ProvisionRequest) { q.InstanceID = id.New(id.KindWorkload) },
	"ProvisionRequest.tenant_id":   func(q *provider.ProvisionRequest) { q.TenantID = "ten-2" },
	"ProvisionRequest.name":        func(q *provider.ProvisionRequest) { q.Name = "other" },
	"ProvisionRequest.kind":        func(q *provider.ProvisionRequest) { q.Kind = provider.KindStatefulSet },
	"ProvisionRequest.services":    func(q *provider.ProvisionRequest) { q.Services = q.Services[:1] },
	"ProvisionRequest.labels":      func(q *provider.ProvisionRequest) { q.Labels = map[string]string{"team": "red"} },
	"ProvisionRequest.release_id":  func(q *provider.ProvisionRequest) { q.ReleaseID = id.New(id.KindRelease) },
	"ProvisionRequest.network":     func(q *provider.ProvisionRequest) { q.Network = "shared" },
	"ProvisionRequest.rollout":     func(q *provider.ProvisionRequest) { q.Rollout = nil },

	"ServiceSpec.name":         svc(func(s *provider.ServiceSpec) { s.Name = "other" }),
	"ServiceSpec.image":        svc(func(s *provider.ServiceSpec) { s.Image = "web:2" }),
	"ServiceSpec.role":         func(q *provider.ProvisionRequest) { q.Services[1].Role, q.Services[1].Ports = provider.RoleInit, nil },
	"ServiceSpec.depends_on":   svc(func(s *provider.ServiceSpec) { s.DependsOn = []string{"side"} }),
	"ServiceSpec.resources":    svc(func(s *provider.ServiceSpec) { s.Resources.MemoryMB = 7 }),
	"ServiceSpec.env":          svc(func(s *provider.ServiceSpec) { s.Env = map[string]string{"A": "b"} }),
	"ServiceSpec.ports":        svc(func(s *provider.ServiceSpec) { s.Ports, s.HealthCheck.Port = nil, 8080 }),
	"ServiceSpec.volumes":      svc(func(s *provider.ServiceSpec) { s.Volumes = nil }),
	"ServiceSpec.health_check": svc(func(s *provider.ServiceSpec) { s.HealthCheck = nil }),
	"ServiceSpec.secrets":      svc(func(s *provider.ServiceSpec) { s.Secrets = nil }),
	"ServiceSpec.config_files": svc(func(s *provider.ServiceSpec) { s.ConfigFiles = nil }),
	"ServiceSpec.annotations":  svc(func(s *provider.ServiceSpec) { s.Annotations = map[string]string{"note": "x"} }),
	"ServiceSpec.command":      svc(func(s *provider.ServiceSpec) { s.Command = []string{"/other"} }),
	"ServiceSpec.args":         svc(func(s *provider.ServiceSpec) { s.Args = []string{"-v"} }),
	"ServiceSpec.liveness":     svc(func(s *provider.ServiceSpec) { s.Liveness = &provider.HealthCheckSpec{Path: "/live"} }),
	"ServiceSpec.security":     svc(func(s *provider.ServiceSpec) { s.Security = &provider.SecuritySpec{ReadOnlyRootFS: true} }),
	"ServiceSpec.user":         svc(func(s *provider.ServiceSpec) { s.User = "1000" }),
	"ServiceSpec.working_dir":  svc(func(s *provider.ServiceSpec) { s.WorkingDir = "/srv" }),
	"ServiceSpec.tmpfs":        svc(func(s *provider.ServiceSpec) { s.Tmpfs = nil }),
	"ServiceSpec.init":         svc(func(s *provider.ServiceSpec) { s.Init = true }),
	"ServiceSpec.stop_grace":   svc(func(s *provider.ServiceSpec) { s.StopGrace = 3 * time.Second }),
	"ServiceSpec.stop_signal":  svc(func(s *provider.ServiceSpec) { s.StopSignal = "SIGQUIT" }),

	"ResourceSpec.cpu_millis": svc(func(s *provider.ServiceSpec) { s.Resources.CPUMillis = 100 }),
	"ResourceSpec.memory_mb":  svc(func(s *provider.ServiceSpec) { s.Resources.MemoryMB = 64 }),
	"ResourceSpec.disk_mb":    svc(func(s *provider.ServiceSpec) { s.Resources.DiskMB = 64 }),
	"ResourceSpec.replicas":   func(q *provider.ProvisionRequest) { q.Services[0].Resources.Replicas, q.Services[0].Volumes = 2, nil },
	"ResourceSpec.gpu":        svc(func(s *provider.ServiceSpec) { s.Resources.GPU = "1" }),

	"PortSpec.container":    svc(func(s *provider.ServiceSpec) { s.Ports[0].Container = 8081 }),
	"PortSpec.host":         svc(func(s *provider.ServiceSpec) { s.Ports[0].Host = 18080 }),
	"PortSpec.protocol":     svc(func(s *provider.ServiceSpec) { s.Ports[0].Protocol, s.HealthCheck.Port = provider.ProtocolUDP, 8080 }),
	"PortSpec.bind_address": svc(func(s *provider.ServiceSpec) { s.Ports[0].BindAddress = "127.0.0.2" }),
	"PortSpec.public":       svc(func(s *provider.ServiceSpec) { s.Ports[0].Public = true }),
	"PortSpec.domains":      svc(func(s *provider.ServiceSpec) { s.Ports[0].Domains = []string{"shop.example"} }),
	"PortSpec.tls":          svc(func(s *provider.ServiceSpec) { withTLS(s, provider.TLSSpec{}) }),
	"TLSSpec.secret":        svc(func(s *provider.ServiceSpec) { withTLS(s, provider.TLSSpec{Secret: "cert"}) }),
	"TLSSpec.redirect_http": svc(func(s *provider.ServiceSpec) { withTLS(s, provider.TLSSpec{RedirectHTTP: true}) }),
	"VolumeSpec.name":       svc(func(s *provider.ServiceSpec) { s.Volumes[0].Name = "other" }),
	"VolumeSpec.mount_path": svc(func(s *provider.ServiceSpec) { s.Volumes[0].MountPath = "/other" }),
	"VolumeSpec.size_mb":    svc(func(s *provider.ServiceSpec) { s.Volumes[0].SizeMB = 10 }),
	"VolumeSpec.type":       svc(func(s *provider.ServiceSpec) { s.Volumes[0].Type = "fast" }),
	"VolumeSpec.shared":     svc(func(s *provider.ServiceSpec) { s.Volumes[0].Shared = true }),
	"VolumeSpec.ids": func(q *provider.ProvisionRequest) {
		q.Kind, q.Services[0].Volumes[0].IDs = provider.KindStatefulSet, []string{"shop-0"}
	},
	"VolumeSpec.read_only": svc(func(s *provider.ServiceSpec) { s.Volumes[0].ReadOnly = true }),
	"TmpfsSpec.mount_path": svc(func(s *provider.ServiceSpec) { s.Tmpfs[0].MountPath = "/other" }),
	"TmpfsSpec.size_mb":    svc(func(s *provider.ServiceSpec) { s.Tmpfs[0].SizeMB = 5 }),

	"HealthCheckSpec.path":            svc(func(s *provider.ServiceSpec) { s.HealthCheck.Path = "/other" }),
	"HealthCheckSpec.port":            svc(func(s *provider.ServiceSpec) { s.HealthCheck.Port = 8082 }),
	"HealthCheckSpec.interval":        svc(func(s *provider.ServiceSpec) { s.HealthCheck.Interval = 7 * time.Second }),
	"HealthCheckSpec.timeout":         svc(func(s *provider.ServiceSpec) { s.HealthCheck.Timeout = 7 * time.Second }),
	"HealthCheckSpec.retries":         svc(func(s *provider.ServiceSpec) { s.HealthCheck.Retries = 7 }),
	"HealthCheckSpec.exec":            svc(func(s *provider.ServiceSpec) { s.HealthCheck = &provider.HealthCheckSpec{Exec: []string{"env"}} }),
	"HealthCheckSpec.grpc":            svc(func(s *provider.ServiceSpec) { s.HealthCheck = &provider.HealthCheckSpec{GRPC: &provider.GRPCCheck{}} }),
	"HealthCheckSpec.expected_status": svc(func(s *provider.ServiceSpec) { s.HealthCheck.ExpectedStatus = 204 }),
	"HealthCheckSpec.start_period":    svc(func(s *provider.ServiceSpec) { s.HealthCheck.StartPeriod = time.Second }),
	"GRPCCheck.service": svc(func(s *provider.ServiceSpec) {
		s.HealthCheck = &provider.HealthCheckSpec{GRPC: &provider.GRPCCheck{Service: "shop.Cart"}}
	}),

	"SecretRef.key":     svc(func(s *provider.ServiceSpec) { s.Secrets[0].Key = "second" }),
	"SecretRef.type":    svc(func(s *provider.ServiceSpec) { s.Secrets[0].Type = secrets.SecretFile }),
	"SecretRef.env_key": svc(func(s *provider.ServiceSpec) { s.Secrets[0].EnvKey = "OTHER" }),
	"SecretRef.path": svc(func(s *provider.ServiceSpec) {
		s.Secrets[0].Type, s.Secrets[0].Path = secrets.SecretFile, "/run/secrets/x"
	}),
	"SecretRef.optional": svc(func(s *provider.ServiceSpec) { s.Secrets[0].Optional = true }),
	"SecretRef.version":  svc(func(s *provider.ServiceSpec) { s.Secrets[0].Version = 1 }),
	"ConfigFile.name":    svc(func(s *provider.ServiceSpec) { s.ConfigFiles[0].Name = "other" }),
	"ConfigFile.path":    svc(func(s *provider.ServiceSpec) { s.ConfigFiles[0].Path = "/etc/app/other" }),
	"ConfigFile.format":  svc(func(s *provider.ServiceSpec) { s.ConfigFiles[0].Format = "yaml" }),
	"ConfigFile.content": svc(func(s *provider.ServiceSpec) { s.ConfigFiles[0].Content = "other" }),
	"ConfigFile.key":     svc(func(s *provider.ServiceSpec) { s.ConfigFiles[0].Content, s.ConfigFiles[0].Key = "", "first" }),
	"ConfigFile.version": svc(func(s *provider.ServiceSpec) { withKey(&s.ConfigFiles[0], 1) }),
	"SecuritySpec.cap_add": svc(func(s *provider.ServiceSpec) {
		s.Security = &provider.SecuritySpec{CapAdd: []string{"NET_RAW"}}
	}),
	"SecuritySpec.cap_drop":          svc(func(s *provider.ServiceSpec) { s.Security = &provider.SecuritySpec{CapDrop: []string{"CHOWN"}} }),
	"SecuritySpec.pids_limit":        svc(func(s *provider.ServiceSpec) { s.Security = &provider.SecuritySpec{PidsLimit: 50} }),
	"SecuritySpec.read_only_root_fs": svc(func(s *provider.ServiceSpec) { s.Security = &provider.SecuritySpec{ReadOnlyRootFS: true} }),

	"RolloutSpec.max_surge":       func(q *provider.ProvisionRequest) { q.Rollout.MaxSurge = "3" },
	"RolloutSpec.max_unavailable": func(q *provider.ProvisionRequest) { q.Rollout.MaxUnavailable = "1" },
	"RolloutSpec.ready_timeout":   func(q *provider.ProvisionRequest) { q.Rollout.ReadyTimeout = time.Hour },
	"RolloutSpec.stable_window":   func(q *provider.ProvisionRequest) { q.Rollout.StableWindow = time.Second },
}

// refusals are the values of fields that are mapped in part that are not.
var refusals = map[string]func(*provider.ProvisionRequest){
	"HealthCheckSpec.path": svc(func(s *provider.ServiceSpec) { s.Ports[0].Protocol = provider.ProtocolHTTPS }),
	"HealthCheckSpec.grpc": svc(func(s *provider.ServiceSpec) {
		s.Ports[0].Protocol, s.HealthCheck = provider.ProtocolHTTPS, &provider.HealthCheckSpec{GRPC: &provider.GRPCCheck{}}
	}),
	"HealthCheckSpec.start_period": svc(func(s *provider.ServiceSpec) {
		s.Liveness = &provider.HealthCheckSpec{Path: "/", StartPeriod: time.Second}
	}),
	"SecretRef.type": svc(func(s *provider.ServiceSpec) { s.Secrets[0].Type = secrets.SecretTLS }),
	"SecuritySpec.cap_add": svc(func(s *provider.ServiceSpec) {
		s.Security = &provider.SecuritySpec{CapAdd: []string{"SYS_ADMIN"}}
	}),
	"SecuritySpec.no_new_privileges": svc(func(s *provider.ServiceSpec) {
		never := false
		s.Security = &provider.SecuritySpec{NoNewPrivileges: &never}
	}),
}

func svc(set func(*provider.ServiceSpec)) func(*provider.ProvisionRequest) {
	return func(q *provider.ProvisionRequest) { set(&q.Services[0]) }
}

func withTLS(s *provider.ServiceSpec, tls provider.TLSSpec) {
	s.Ports[0].Domains, s.Ports[0].TLS = []string{"shop.example"}, &tls
}

func withKey(f *provider.ConfigFile, v secrets.Version) { f.Content, f.Key, f.Version = "", "first", v }

// usual is a request that has something of everything.
func usual(workload id.ID) provider.ProvisionRequest {
	q := request(web("web:1"), side())
	q.InstanceID = workload
	s := &q.Services[0]
	s.Volumes = []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	s.Tmpfs = []provider.TmpfsSpec{{MountPath: "/scratch"}}
	s.Secrets = []provider.SecretRef{{Key: "first"}}
	s.ConfigFiles = []provider.ConfigFile{{Name: "app", Path: "/etc/app/conf", Content: "colour: red"}}
	return q
}

// creations notes what an engine is told to make.
type creations struct {
	docker.Runtime
	mu   sync.Mutex
	made []any
}

func (c *creations) note(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, v)
}

func (c *creations) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	spec.Labels[docker.LabelSpecHash] = "" // it would tell two specs apart that make the same
	c.note(spec)
	return c.Runtime.Create(ctx, spec)
}

func (c *creations) CopyInto(ctx context.Context, container, dir string, files []docker.File) error {
	c.note(files)
	return c.Runtime.CopyInto(ctx, container, dir, files)
}

// outcome is all that a request comes to: the containers and their files, and
// what the planner is told of the rest.
func outcome(t *testing.T, q provider.ProvisionRequest) (string, error) {
	t.Helper()
	r := newRig(t)
	for _, owner := range []string{tenant, "ten-2"} {
		for _, key := range []string{"first", "second"} {
			for _, value := range []string{"one", "two"} {
				_, err := r.vault.Put(t.Context(), secrets.Ref{Tenant: owner, Key: key}, secrets.NewSecretString(key+value))
				r.ok(err)
			}
		}
	}
	c := &creations{Runtime: r.engine}
	r.d.rt.Runtime = c
	if _, err := r.d.Provision(t.Context(), q); err != nil {
		return "", err
	}
	w, err := r.d.records.Load(t.Context(), q.InstanceID)
	r.ok(err)
	s := w.Desired.Spec
	for i := range s.Files {
		// Its name is a part of this key, and nothing else of it is.
		s.Files[i].Secret.Key = strings.TrimPrefix(s.Files[i].Secret.Key, translate.FilesPrefix(q.InstanceID))
	}
	text, err := json.Marshal(map[string]any{"made": c.made, "desired": s})
	r.ok(err)
	return string(text), nil
}

func TestMappedFieldsChangeTheOutcomeAndRefusedOnesAreNamed(t *testing.T) {
	workload := id.New(id.KindWorkload)
	before, err := outcome(t, usual(workload))
	if err != nil {
		t.Fatal(err)
	}
	again, err := outcome(t, usual(workload))
	if err != nil || again != before {
		t.Fatalf("one request has two outcomes (%v)", err)
	}
	for _, f := range translate.Fields() {
		if slices.Contains([]string{"DeployRequest", "LogOptions", "ExecRequest"}, strings.Split(f.Name, ".")[0]) {
			continue // tests of the calls hold these
		}
		t.Run(f.Name, func(t *testing.T) {
			set, refuse := sets[f.Name], refusals[f.Name]
			if set == nil && refuse == nil {
				t.Fatal("no test sets it")
			}
			if set != nil {
				holdField(t, f, set, workload, before)
			}
			if f.Fate == translate.InPart && refuse == nil {
				t.Fatal("no test sets it to what is refused")
			}
			if refuse != nil {
				q := usual(workload)
				refuse(&q)
				refusedBy(t, f.Name, q)
			}
		})
	}
}

// holdField checks one field against its fate.
func holdField(t *testing.T, f translate.Field, set func(*provider.ProvisionRequest), workload id.ID, before string) {
	t.Helper()
	q := usual(workload)
	set(&q)
	if f.Fate == translate.Refused {
		refusedBy(t, f.Name, q)
		return
	}
	after, err := outcome(t, q)
	if err != nil {
		t.Fatal(err)
	}
	if changed := after != before; changed == (f.Fate == translate.Kept) {
		t.Errorf("it is %s, and the outcome changed: %t", f.Fate, changed)
	}
}

// refusedBy checks that a request is refused with the name of the field, or of
// the one that it stands in.
func refusedBy(t *testing.T, field string, q provider.ProvisionRequest) {
	t.Helper()
	_, err := outcome(t, q)
	owner, name, _ := strings.Cut(field, ".")
	switch {
	case !errors.Is(err, provider.ErrNotSupported):
		t.Errorf("got %v", err)
	case strings.Contains(err.Error(), name), owner == "TLSSpec" && strings.Contains(err.Error(), "tls"),
		owner == "HealthCheckSpec" && strings.Contains(err.Error(), "health_check"):
	default:
		t.Errorf("%v does not name %s", err, name)
	}
}
