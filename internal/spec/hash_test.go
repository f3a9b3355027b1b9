package spec

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGoldenHashesNeverChange holds the promise that an upgrade replaces no
// container: the file is written by hand, and a hash in it is never edited.
func TestGoldenHashesNeverChange(t *testing.T) {
	raw, err := os.ReadFile("testdata/hashes.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		What    string  `json:"what"`
		Service Service `json:"service"`
		Hash    string  `json:"hash"`
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 10 {
		t.Fatalf("%d golden hashes, want at least 10", len(cases))
	}
	for _, c := range cases {
		if got := c.Service.Hash(); got != c.Hash {
			t.Errorf("%s: hash %s, want %s; canonical form:\n%s", c.What, got, c.Hash, c.Service.canonical())
		}
	}
}

func TestHashIsTheWholeSHA256InHex(t *testing.T) {
	s := sampleService()
	if got := s.Hash(); !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got) {
		t.Fatalf("Hash = %q", got)
	}
}

// needsContainer says for every field of a service, of what kind it is: true
// for what a container is made from, false for what is done without one.
var needsContainer = map[string]bool{
	"Service.Name":              false, // part of the container's name already
	"Service.Image":             false, // its identity is hashed beside the spec
	"Service.Command":           true,
	"Service.Env":               true,
	"Service.Port":              true,
	"Service.Domains":           false,
	"Service.Path":              false,
	"Service.Replicas":          false,
	"Service.Strategy":          false,
	"Service.MaxSurge":          false,
	"Service.MaxUnavailable":    false,
	"Service.Readiness":         true,
	"Service.Liveness":          true,
	"Service.ReadyTimeout":      false,
	"Service.StableWindow":      false,
	"Service.DrainTimeout":      false,
	"Service.StopGrace":         false, // said at the stop
	"Service.HoldTimeout":       false,
	"Service.KeepPrevious":      false,
	"Service.Resources":         true,
	"Service.Volumes":           true,
	"Service.Publish":           true,
	"Service.Labels":            false,
	"Service.Process":           true,
	"Service.Inits":             true,
	"Service.Sidecars":          true,
	"Service.SidecarsFirst":     true,
	"Service.Restart":           true,
	"Service.CompletionTimeout": false,
	"Service.DependsOn":         false, // waited for before the first container
	"Service.DependsTimeout":    false,
	"Dependency.Service":        false,
	"Dependency.Condition":      false,
	"Service.Alias":             true,
	"Service.Stateful":          true,
	"Service.Placement":         false, // a move is a restart
	"Placement.Node":            false,
	"Placement.Labels":          false,
	"Placement.Spread":          false,
	"Placement.Keep":            false,
	"Placement.MoveAfter":       false,
	"Process.Entrypoint":        true,
	"Process.User":              true,
	"Process.WorkingDir":        true,
	"Process.StopSignal":        true,
	"Process.Init":              true,
	"Process.ReadOnlyRoot":      true,
	"Process.Hardened":          true,
	"Process.CapAdd":            true,
	"Process.Tmpfs":             true,
	"Process.Files":             true,
	"Tmpfs.Path":                true,
	"Tmpfs.SizeBytes":           true,
	"File.Path":                 true,
	"File.Secret":               true,
	"SecretRef.Key":             true,
	"SecretRef.Optional":        true,
	"SecretRef.Version":         true,
	"Member.Name":               true,
	"Member.Role":               false, // the list it is in says it
	"Member.DependsOn":          true,
	"Member.Image":              false, // as that of the service
	"Member.Command":            true,
	"Member.Env":                true,
	"Member.Port":               true,
	"Member.Readiness":          true,
	"Member.Liveness":           true,
	"Member.Resources":          true,
	"Member.Volumes":            true,
	"Member.Publish":            true,
	"Member.Labels":             false,
	"Member.Process":            true,
	"EnvVar.Name":               true,
	"EnvVar.Value":              true,
	"EnvVar.Secret":             true,
	"Probe.Path":                true,
	"Probe.Port":                true,
	"Probe.Interval":            true,
	"Probe.Timeout":             true,
	"Probe.ExpectedStatus":      true,
	"Probe.Exec":                true,
	"Probe.GRPC":                true,
	"Probe.GRPCService":         true,
	"Probe.Failures":            true,
	"Resources.MemoryBytes":     true,
	"Resources.Pids":            true,
	"Resources.MilliCPU":        true,
	"Volume.Name":               true,
	"Volume.HostPath":           true,
	"Volume.Path":               true,
	"Volume.ReadOnly":           true,
	"Volume.IDs":                true,
	"Volume.Shared":             false, // a promise about the program
	"PublishedPort.Port":        true,
	"PublishedPort.HostPort":    true,
	"PublishedPort.Public":      true,
	"PublishedPort.Protocol":    true,
	"PublishedPort.Address":     true,
}

// sampleService has something in every field.
func sampleService() *Service {
	return &Service{
		Name: "web", Image: "web:1", Command: []string{"serve"}, Env: []EnvVar{{Name: "A", Value: "b"}}, Port: 8080,
		Domains: []string{"shop.example"}, Path: "/app", Replicas: 2, Strategy: BlueGreen, MaxSurge: "25%", MaxUnavailable: "1",
		Readiness:    &Probe{Path: "/ready", Port: 81, Interval: time.Second, Timeout: time.Second, ExpectedStatus: "200"},
		Liveness:     &Probe{Exec: []string{"check"}, Interval: time.Second, Timeout: time.Second, Failures: 5},
		ReadyTimeout: time.Minute, StableWindow: time.Second, DrainTimeout: time.Second, StopGrace: time.Second,
		HoldTimeout: time.Second, KeepPrevious: time.Minute, Resources: Resources{1 << 30, 500, 100},
		Volumes: []Volume{{Name: "data", HostPath: "/srv/x", Path: "/data", IDs: []string{"a"}}},
		Publish: []PublishedPort{{Port: 80, HostPort: 8080}}, Labels: map[string]string{"team": "shop"},
		Process: sampleProcess(),
		Inits:   []Member{sampleMember("migrate")}, Sidecars: []Member{sampleMember("proxy")}, SidecarsFirst: []string{"proxy"},
		Restart: RestartOnFailure, CompletionTimeout: time.Minute,
		DependsOn: []Dependency{{"db", DependsReady}}, DependsTimeout: time.Minute, Alias: "front", Stateful: true,
		Placement: Placement{Node: "one", Labels: map[string]string{"disk": "ssd"}, Spread: true, MoveAfter: time.Minute},
	}
}

func sampleProcess() Process {
	return Process{
		Entrypoint: []string{"/entry"}, User: "1000", WorkingDir: "/app", StopSignal: "SIGINT", Init: true, ReadOnlyRoot: true,
		Hardened: true, CapAdd: []string{"NET_RAW"}, Tmpfs: []Tmpfs{{"/tmp", 1 << 20}},
		Files: []File{{"/etc/app/key", SecretRef{Key: "shop/KEY", Version: 1}}},
	}
}

func sampleMember(name string) Member {
	return Member{
		Name: name, Role: RoleInit, DependsOn: []string{"other"}, Image: name + ":1", Command: []string{"run"},
		Env: []EnvVar{{Name: "TOKEN", Secret: SecretRef{Key: "shop/TOKEN", Version: 2}}}, Port: 90,
		Readiness: &Probe{GRPC: true, GRPCService: "a", Port: 91, Interval: time.Second, Timeout: time.Second},
		Liveness:  &Probe{Path: "/live", Interval: time.Second, Timeout: time.Second, ExpectedStatus: "204"},
		Resources: Resources{1 << 28, 100, 50}, Volumes: []Volume{{Name: "data", HostPath: "/srv/x", Path: "/data", IDs: []string{"a"}}},
		Publish: []PublishedPort{{Port: 81, HostPort: 8081}}, Labels: map[string]string{"team": "shop"}, Process: sampleProcess(),
	}
}

// eachField calls visit with a fresh sample and each field in it, nested ones
// included.
func eachField(t *testing.T, visit func(name string, s *Service, field reflect.Value)) {
	t.Helper()
	var walk func(path []int, typ reflect.Type)
	steps := func(v reflect.Value, path []int) reflect.Value {
		for _, i := range path {
			v = inner(v).Field(i)
		}
		return v
	}
	walk = func(path []int, typ reflect.Type) {
		for i := range typ.NumField() {
			at := append(append([]int{}, path...), i)
			s := sampleService()
			if moot(inner(steps(reflect.ValueOf(s).Elem(), path)), typ.Field(i).Name) {
				continue
			}
			field := steps(reflect.ValueOf(s).Elem(), at)
			visit(typ.Name()+"."+typ.Field(i).Name, s, field)
			if nested := inner(steps(reflect.ValueOf(sampleService()).Elem(), at)); nested.Kind() == reflect.Struct {
				walk(at, nested.Type())
			}
		}
	}
	walk(nil, reflect.TypeFor[Service]())
}

// moot reports whether a field of a variable says nothing beside the others: a
// variable has either a value or a secret.
func moot(parent reflect.Value, field string) bool {
	v, ok := parent.Interface().(EnvVar)
	return ok && (field == "Value" && v.Secret.Key != "" || field == "Secret" && v.Secret.Key == "")
}

// inner is what a pointer or a slice of structs leads to.
func inner(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Pointer:
		return v.Elem()
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return v.Index(0)
	}
	return v
}

// alter gives a field another value.
func alter(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Int, reflect.Int64:
		field.SetInt(field.Int() + int64(time.Millisecond)*7 + 1)
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
		if field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.String {
			field.Set(reflect.Append(field, reflect.ValueOf("x")))
			return
		}
		field.SetZero()
	default:
		t.Fatalf("%s is a %s, which this test cannot alter", name, field.Kind())
	}
}

func TestEveryFieldIsClassifiedAndHashedAccordingly(t *testing.T) {
	seen := map[string]bool{}
	eachField(t, func(name string, s *Service, field reflect.Value) {
		seen[name] = true
		want, ok := needsContainer[name]
		if !ok {
			t.Errorf("%s is not classified: does a change of it need a new container?", name)
			return
		}
		alter(t, name, field)
		if got := s.Hash() != sampleService().Hash(); got != want {
			t.Errorf("%s: a change changes the hash: %v, want %v", name, got, want)
		}
	})
	for name := range needsContainer {
		if !seen[name] {
			t.Errorf("%s is classified but no field", name)
		}
	}
}

func TestEveryFieldIsInTheDiffWithItsEffect(t *testing.T) {
	eachField(t, func(name string, s *Service, field reflect.Value) {
		if name == "Service.Name" || name == "Member.Role" {
			return // two services of different names are two services; the list a member is in is its role
		}
		alter(t, name, field)
		changes := Diff(sampleService(), s)
		if len(changes) == 0 {
			t.Errorf("%s: a change is not in the diff", name)
		}
		rolls := Heaviest(changes) == EffectRoll
		if want := needsContainer[name] || name == "Service.Image" || name == "Member.Image"; rolls != want {
			t.Errorf("%s: the diff rolls: %v, want %v (%v)", name, rolls, want, changes)
		}
	})
}

func TestAFieldAtItsDefaultAddsNothingToTheCanonicalForm(t *testing.T) {
	s := newService("web")
	if got := s.canonical(); got != "" {
		t.Errorf("a service that says nothing has the canonical form %q, want none", got)
	}
	s.Readiness = &Probe{Path: "/", Interval: 2 * time.Second, Timeout: 2 * time.Second, ExpectedStatus: "200-299"}
	s.Liveness = &Probe{Path: "/live", Interval: 30 * time.Second, Timeout: 2 * time.Second, ExpectedStatus: "200-299", Failures: 3}
	s.Volumes = []Volume{{Name: "data", Path: "/data"}}
	s.Publish = []PublishedPort{{Port: 1, HostPort: 2}}
	s.Inits = []Member{{Name: "a", Image: "a"}}
	want := strings.Join([]string{
		"inits=10:name=1:a,\n,",
		"liveness=4:true,",
		"liveness.path=5:/live,",
		"publish=25:host_port=1:2,\nport=1:1,\n,",
		"readiness.path=1:/,",
		"volumes=27:name=4:data,\npath=5:/data,\n,",
		"",
	}, "\n")
	if got := s.canonical(); got != want {
		t.Errorf("canonical form %q, want %q", got, want)
	}
}

func TestTheOrderOfSetsDoesNotChangeTheHash(t *testing.T) {
	a := &Service{
		Env:     []EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
		Volumes: []Volume{{Name: "x", Path: "/x"}, {Name: "y", Path: "/y"}},
		Publish: []PublishedPort{{Port: 1, HostPort: 1}, {Port: 2, HostPort: 2}},
	}
	b := &Service{
		Env:     []EnvVar{{Name: "B", Value: "2"}, {Name: "A", Value: "1"}},
		Volumes: []Volume{{Name: "y", Path: "/y"}, {Name: "x", Path: "/x"}},
		Publish: []PublishedPort{{Port: 2, HostPort: 2}, {Port: 1, HostPort: 1}},
	}
	if a.Hash() != b.Hash() {
		t.Error("the order of variables, volumes or ports changed the hash")
	}
	c, d := &Service{Command: []string{"a", "b"}}, &Service{Command: []string{"b", "a"}}
	if c.Hash() == d.Hash() {
		t.Error("the order of the command did not change the hash")
	}
}

// TestTheHashChangesExactlyWhenTheDiffRolls ties the two together: what Diff
// calls a roll is what makes another container, and nothing else.
func TestTheHashChangesExactlyWhenTheDiffRolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyService(t, "a"), anyService(t, "b")
		b.Image = a.Image
		rolls := Heaviest(Diff(a, b)) == EffectRoll
		if differ := a.Hash() != b.Hash(); differ != rolls {
			t.Fatalf("the hashes differ: %v, the diff rolls: %v (%v)", differ, rolls, Diff(a, b))
		}
		if changes := Diff(a, a); len(changes) != 0 {
			t.Fatalf("a service differs from itself: %v", changes)
		}
		if forward, back := len(Diff(a, b)), len(Diff(b, a)); forward != back {
			t.Fatalf("%d changes one way, %d the other", forward, back)
		}
	})
}

func TestNoTwoValuesHaveOneCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("1:,=\na")), 0, 4, -1), 0, 4)
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		same := reflect.DeepEqual(append([]string{}, a...), append([]string{}, b...))
		if equal := (&Service{Command: a}).Hash() == (&Service{Command: b}).Hash(); equal != same {
			t.Fatalf("%q and %q: same hash %v, same command %v", a, b, equal, same)
		}
	})
}

// anyService draws a service from few values, so that two of them often agree.
func anyService(t *rapid.T, label string) *Service {
	few := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label+"."+what) }
	num := func(what string, top int) int { return rapid.IntRange(0, top).Draw(t, label+"."+what) }
	yes := func(what string) bool { return rapid.Bool().Draw(t, label+"."+what) }
	s := newService("web")
	s.Image = few("image", "web:1", "web:2")
	s.Port = num("port", 1) * 80
	s.Replicas = 1 + num("replicas", 1)
	s.StopGrace = time.Duration(num("grace", 1)) * time.Second
	s.Resources.MemoryBytes = int64(num("memory", 1)) << 30
	s.Resources.Pids = int64(num("pids", 1)) * 100
	if yes("command") {
		s.Command = []string{few("word", "serve", "work")}
	}
	if yes("env") {
		s.Env = []EnvVar{{Name: few("name", "A", "B"), Value: few("value", "", "x")}}
	}
	if yes("probe") {
		s.Readiness = &Probe{Path: few("probe path", "/", "/ready"), Interval: DefaultProbeInterval,
			Timeout: time.Duration(1+num("timeout", 1)) * time.Second, ExpectedStatus: DefaultExpected}
	}
	if yes("volume") {
		s.Volumes = []Volume{{Name: few("volume name", "a", "b"), Path: few("mount", "/a", "/b"),
			ReadOnly: yes("read-only"), Shared: yes("shared")}}
		if yes("ids") {
			s.Volumes[0].IDs = []string{few("id", "p", "q")}
		}
	}
	if yes("publish") {
		s.Publish = []PublishedPort{{Port: 80, HostPort: 8080 + num("host port", 1), Public: yes("public")}}
	}
	s.User = few("user", "", "1000")
	s.Hardened = yes("hardened")
	s.MaxSurge = Amount(few("surge", "1", "2"))
	s.Restart = Restart(few("restart", "", "no"))
	if yes("liveness") {
		s.Liveness = &Probe{Exec: []string{few("check", "a", "b")}, Interval: DefaultLivenessInterval, Timeout: DefaultProbeTimeout,
			Failures: num("failures", 1) * DefaultLivenessFailures}
	}
	if yes("secret") {
		s.Env = append(s.Env, EnvVar{Name: "S", Value: few("beside", "", "x"), Secret: SecretRef{Key: few("key", "shop/S", "shop/T"),
			Optional: yes("optional"), Version: int64(num("version", 1))}})
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 0, 2, rapid.ID[string]).Draw(t, label+".members") {
		m := Member{Name: name, Image: "m:1", Port: num("member port", 1), Labels: map[string]string{"a": few("member label", "b", "c")}}
		if yes("init or sidecar") {
			s.Inits = append(s.Inits, m)
		} else {
			s.Sidecars = append(s.Sidecars, m)
			s.DependsOn = []Dependency{{"db", DependsStatus(few("condition", "ready", "started"))}}
		}
	}
	if yes("label") {
		s.Labels = map[string]string{"team": few("team", "a", "b")}
	}
	return &s
}
