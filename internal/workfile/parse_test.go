package workfile

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

const everything = `
name: shop
provider: local
kind: stateful_set
network: backyard
labels: {team: web}
rollout: {strategy: rolling, max_surge: 2, max_unavailable: 25%, ready_timeout: 2m, stable_window: 3s}
services:
  db:
    role: sidecar
    image: a/db:1
    depends_on: [migrate]
    ports: [5432]
    readiness: {exec: [pg_isready], interval: 5s, timeout: 1s, retries: 3, start_period: 10s}
  web:
    image: a/web:1
    command: [/web]
    args: [--port, 8080]
    env: {MODE: production, LEVEL: 3}
    replicas: 3
    resources: {memory: 1Gi, cpu: 0.5, disk: 10Mi, gpu: 1}
    ports: [{port: 8080, host_port: 80, protocol: http, bind_address: 10.0.0.1, domains: [shop.example.com], tls: {secret: shop/cert, redirect_http: true}}]
    volumes: [{name: data, path: /data, size: 2Gi, type: ssd, shared: true, read_only: true}]
    tmpfs: [{path: /tmp, size: 64Mi}]
    readiness: {path: /ok, port: 8080, expected_status: 204}
    liveness: {grpc: {service: shop}}
    secrets: [{key: shop/TOKEN, env: TOKEN, version: 2}, {key: shop/ca, type: file, path: /etc/certs/ca, optional: true}]
    config_files:
      - {name: inline, path: /etc/shop/inline, content: hello}
      - {name: sent, path: /etc/shop/sent, format: json, file: sent.json}
      - {name: kept, path: /etc/shop/kept, key: shop/KEPT, version: 4}
    annotations: {note: x}
    security: {read_only_root_fs: true, cap_add: [NET_RAW], cap_drop: [ALL], no_new_privileges: true}
    user: 1000
    working_dir: /srv
    init: true
    stop_grace: 30s
    stop_signal: SIGQUIT
  migrate: {role: init, image: a/migrate:1}
`

func TestAFileBecomesTheRequestThatItSays(t *testing.T) {
	got, err := Parse([]byte(everything), Options{Files: map[string][]byte{"sent.json": []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	want := &Workload{Provider: "local", Strategy: provider.StrategyRolling, Request: provider.ProvisionRequest{
		Name: "shop", Kind: provider.KindStatefulSet, Network: "backyard", Labels: map[string]string{"team": "web"},
		Rollout: &provider.RolloutSpec{MaxSurge: "2", MaxUnavailable: "25%", ReadyTimeout: 2 * time.Minute, StableWindow: 3 * time.Second},
		Services: []provider.ServiceSpec{
			{
				Name: "db", Role: provider.RoleSidecar, Image: "a/db:1", DependsOn: []string{"migrate"}, Ports: []provider.PortSpec{{Container: 5432}},
				HealthCheck: &provider.HealthCheckSpec{Exec: []string{"pg_isready"}, Interval: 5 * time.Second, Timeout: time.Second, Retries: 3, StartPeriod: 10 * time.Second},
			},
			{
				Name: "web", Image: "a/web:1", Command: []string{"/web"}, Args: []string{"--port", "8080"}, Env: map[string]string{"MODE": "production", "LEVEL": "3"},
				Resources: provider.ResourceSpec{CPUMillis: 500, MemoryMB: 1024, DiskMB: 10, Replicas: 3, GPU: "1"},
				Ports: []provider.PortSpec{{
					Container: 8080, Host: 80, Protocol: "http", BindAddress: "10.0.0.1", Domains: []string{"shop.example.com"},
					TLS: &provider.TLSSpec{Secret: "shop/cert", RedirectHTTP: true},
				}},
				Volumes:     []provider.VolumeSpec{{Name: "data", MountPath: "/data", SizeMB: 2048, Type: "ssd", Shared: true, ReadOnly: true}},
				Tmpfs:       []provider.TmpfsSpec{{MountPath: "/tmp", SizeMB: 64}},
				HealthCheck: &provider.HealthCheckSpec{Path: "/ok", Port: 8080, ExpectedStatus: 204},
				Liveness:    &provider.HealthCheckSpec{GRPC: &provider.GRPCCheck{Service: "shop"}},
				Secrets: []provider.SecretRef{
					{Key: "shop/TOKEN", EnvKey: "TOKEN", Version: 2},
					{Key: "shop/ca", Type: secrets.SecretFile, Path: "/etc/certs/ca", Optional: true},
				},
				ConfigFiles: []provider.ConfigFile{
					{Name: "inline", Path: "/etc/shop/inline", Content: "hello"},
					{Name: "sent", Path: "/etc/shop/sent", Format: "json", Content: "{}"},
					{Name: "kept", Path: "/etc/shop/kept", Key: "shop/KEPT", Version: 4},
				},
				Annotations: map[string]string{"note": "x"},
				Security:    &provider.SecuritySpec{ReadOnlyRootFS: true, CapAdd: []string{"NET_RAW"}, CapDrop: []string{"ALL"}, NoNewPrivileges: &yes},
				User:        "1000", WorkingDir: "/srv", Init: true, StopGrace: 30 * time.Second, StopSignal: "SIGQUIT",
			},
			{Name: "migrate", Role: provider.RoleInit, Image: "a/migrate:1"},
		},
	}}
	got.places = places{} // TestAPlaceIsInTheWordsOfTheFile is about them
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// problems are the reports on a file.
func problems(t *testing.T, source string, files map[string][]byte) []yamlfile.Problem {
	t.Helper()
	w, err := Parse([]byte(source), Options{Files: files})
	var faults *yamlfile.Errors
	switch {
	case err == nil:
		t.Fatalf("it is taken for %+v", w)
	case !errors.As(err, &faults), !errors.Is(err, yamlfile.ErrInvalid):
		t.Fatalf("error %v", err)
	}
	return faults.Problems
}

const minimal = "name: shop\nservices:\n  web:\n    image: a\n"

func TestWhatIsWrongIsSaidWhereItIsWritten(t *testing.T) {
	for name, c := range map[string]struct{ source, at, says string }{
		"nothing":              {"", "1:1 ", "the file is empty"},
		"two documents":        {minimal + "---\n" + minimal, "5:1 ", "write one workload a file"},
		"no name":              {"services: {web: {image: a}}\n", "1:1 ", "name is missing; name the workload"},
		"a bad name":           {"name: Shop\nservices: {web: {image: a}}\n", "1:7 name", "lower-case"},
		"no image":             {"name: shop\nservices:\n  web: {replicas: 2}\n", "3:8 services.web.image", "is missing"},
		"an empty service":     {"name: shop\nservices:\n  web:\n", "3:7 services.web", "the service is empty"},
		"no service":           {"name: shop\nservices: {}\n", "2:11 services", "there are no services"},
		"a key of another":     {minimal + "    environment: {A: b}\n", "5:5 services.web.environment", "the key is env"},
		"a slip":               {minimal + "    replica: 2\n", "5:5 services.web.replica", "did you mean replicas?"},
		"a kind":               {"kind: statefulset\n" + minimal, "1:7 kind", "did you mean stateful_set?"},
		"a strategy":           {"rollout: {strategy: blue_green}\n" + minimal, "1:21 rollout.strategy", "did you mean blue-green?"},
		"bounds":               {"rollout: {max_surge: 120%}\n" + minimal, "1:22 rollout.max_surge", "120%"},
		"a unit":               {minimal + "    stop_grace: 10\n", "5:17 services.web.stop_grace", "say the unit"},
		"bytes":                {minimal + "    resources: {memory: 64}\n", "5:25 services.web.resources.memory", "mebibytes"},
		"no cpu":               {minimal + "    resources: {cpu: 0}\n", "5:22 services.web.resources.cpu", "out of range"},
		"a command line":       {minimal + "    command: run me\n", "5:14 services.web.command", "not a list"},
		"no check":             {minimal + "    readiness: {}\n", "5:16 services.web.readiness", "the check says nothing"},
		"a check without port": {minimal + "    readiness: {path: /}\n", "5:16 services.web.readiness.port", "no TCP port"},
		"a label of ours":      {"labels: {berth.x: y}\n" + minimal, "1:9 labels[\"berth.x\"]", "are taken"},
		"replicas of an init":  {minimal + "  up: {role: init, image: b, replicas: 2}\n", "5:40 services.up.replicas", "write replicas there"},
		"two mains":            {minimal + "  api: {image: b}\n", "", "main"},
		"an unknown one":       {minimal + "    depends_on: [db]\n", "5:18 services.web.depends_on[0]", `no service "db"`},
		"a mount":              {minimal + "    volumes: [{name: data, path: data}]\n", "5:34 services.web.volumes[0].path", "not an absolute"},
		"a file not sent":      {minimal + "    config_files: [{name: a, path: /etc/a/b, file: b}]\n", "5:52 services.web.config_files[0].file", "did not come"},
		"content twice":        {minimal + "    config_files: [{name: a, path: /etc/a/b, content: x, key: b}]\n", "5:20 services.web.config_files[0]", "content and key"},
		"no content":           {minimal + "    config_files: [{name: a, path: /etc/a/b}]\n", "5:20 services.web.config_files[0]", "nothing says what is in it"},
	} {
		found := problems(t, c.source, nil)
		var texts []string
		hit := false
		for _, p := range found {
			texts = append(texts, p.String())
			place := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Path)
			hit = hit || (c.at == "" || place == c.at) && strings.Contains(p.What+"; "+p.Do, c.says)
		}
		if !hit || len(found) > 1 && name != "two mains" {
			t.Errorf("%s: want one at %q that says %q, got\n%s", name, c.at, c.says, strings.Join(texts, "\n"))
		}
	}
}

func TestProblemsOfBothKindsComeAtOnceAndNoneTwice(t *testing.T) {
	found := problems(t, `name: Shop
services:
  web:
    imge: a
    ports: [{port: 99999}, {port: 80, host_port: 70000}]
    volumes: [{name: Data, path: x}]
  db:
    role: sidecar
    image: b
    stop_signal: TERM
`, nil)
	var paths []string
	for _, p := range found {
		paths = append(paths, p.Path)
	}
	want := []string{
		"name", "services.web.imge", "services.web.image", "services.web.ports[0].port", "services.web.ports[1].host_port",
		"services.web.volumes[0].name", "services.web.volumes[0].path", "services.db.stop_signal",
	}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("got %q\nwant %q", paths, want)
	}
}

func TestMoreThanARequestMayBringIsRefused(t *testing.T) {
	many := map[string][]byte{}
	for i := range MaxFiles + 1 {
		many[fmt.Sprint(i)] = nil
	}
	if found := problems(t, minimal, many); len(found) != 1 || !strings.Contains(found[0].What, "65 config files") {
		t.Errorf("%v", found)
	}
	large := map[string][]byte{"a": make([]byte, MaxFilesBytes), "b": {0}}
	if found := problems(t, minimal, large); len(found) != 1 || !strings.Contains(found[0].What, "4194305 bytes") {
		t.Errorf("%v", found)
	}
	one := map[string][]byte{"a": make([]byte, provider.MaxConfigFileSize+1)}
	found := problems(t, minimal+"    config_files: [{name: a, path: /etc/a/b, file: a}]\n", one)
	if len(found) != 1 || found[0].Path != "services.web.config_files[0].content" {
		t.Errorf("%v", found)
	}
}

const canary = "canary-41c9f7"

func TestNoMessageRepeatsAContentOrAVariable(t *testing.T) {
	long := strings.Repeat(canary, provider.MaxConfigFileSize/len(canary)+1)
	for _, source := range []string{
		minimal + "    config_files: [{name: A, path: x, content: " + canary + "}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: {" + canary + ": 1}}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: [" + canary + "]}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: *" + canary + "}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: !!binary " + canary + "}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: '" + canary + "}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: " + canary + ": x}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: \"" + canary + "\\q\"}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: " + canary + ", key: b}]\n",
		minimal + "    config_files: [{name: a, path: /etc/a/b, content: " + long + "}]\n",
		minimal + "    env: {A-B C: " + canary + "}\n",
		minimal + "    env: {A: \"" + canary + "\\0\"}\n",
		minimal + "    env: {A: [" + canary + "]}\n",
		minimal + "    env: " + canary + "\n",
	} {
		_, err := Parse([]byte(source), Options{})
		if err == nil {
			t.Errorf("taken: %.200s", source)
			continue
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%.300v\nfrom\n%.200s", err, source)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(broken))
	f.Fuzz(func(t *testing.T, source []byte) {
		w, err := Parse(source, Options{})
		if err != nil {
			var faults *yamlfile.Errors
			if !errors.As(err, &faults) || len(faults.Problems) == 0 {
				t.Fatalf("no report: %v", err)
			}
			for _, p := range faults.Problems {
				if p.Line < 1 || p.Column < 1 || p.What == "" {
					t.Fatalf("a problem without a place or a word: %+v", p)
				}
			}
			return
		}
		var broken *provider.ValidationError
		if errors.As(w.Request.Validate(), &broken) {
			for _, p := range broken.Problems {
				if p.Path != "instance_id" && p.Path != "tenant_id" {
					t.Fatalf("a file is taken that breaks a rule: %s: %s", p.Path, p.Message)
				}
			}
		}
	})
}
