package provider_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// drawPointer draws nil, or a pointer to what g draws.
func drawPointer[T any](t *rapid.T, name string, g *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, "no "+name) {
		return nil
	}
	v := g.Draw(t, name)
	return &v
}

// drawSlice draws nil, an empty or a short slice.
func drawSlice[T any](t *rapid.T, name string, g *rapid.Generator[T]) []T {
	if rapid.Bool().Draw(t, "no "+name) {
		return nil
	}
	return rapid.SliceOfN(g, 0, 2).Draw(t, name)
}

func drawMap(t *rapid.T, name string) map[string]string {
	if rapid.Bool().Draw(t, "no "+name) {
		return nil
	}
	return rapid.MapOfN(word, word, 0, 2).Draw(t, name)
}

var (
	word  = rapid.StringMatching(`[a-z]{0,3}`)
	count = rapid.IntRange(0, 3)
	port  = rapid.Custom(func(t *rapid.T) provider.PortSpec {
		return provider.PortSpec{
			Container: count.Draw(t, "container"), Protocol: word.Draw(t, "protocol"), Domains: drawSlice(t, "domains", word),
			TLS: drawPointer(t, "tls", rapid.Custom(func(t *rapid.T) provider.TLSSpec { return provider.TLSSpec{Secret: word.Draw(t, "secret")} })),
		}
	})
	check = rapid.Custom(func(t *rapid.T) provider.HealthCheckSpec {
		return provider.HealthCheckSpec{
			Path: word.Draw(t, "path"), Port: count.Draw(t, "port"), Exec: drawSlice(t, "exec", word),
			GRPC: drawPointer(t, "grpc", rapid.Custom(func(t *rapid.T) provider.GRPCCheck { return provider.GRPCCheck{Service: word.Draw(t, "service")} })),
		}
	})
	security = rapid.Custom(func(t *rapid.T) provider.SecuritySpec {
		return provider.SecuritySpec{CapAdd: drawSlice(t, "add", word), CapDrop: drawSlice(t, "drop", word), PidsLimit: int64(count.Draw(t, "pids")), NoNewPrivileges: drawPointer(t, "nnp", rapid.Bool())}
	})
	resources = rapid.Custom(func(t *rapid.T) provider.ResourceSpec {
		return provider.ResourceSpec{CPUMillis: count.Draw(t, "cpu"), MemoryMB: 1 + count.Draw(t, "memory"), Replicas: 1 + count.Draw(t, "replicas")}
	})
	volume = rapid.Custom(func(t *rapid.T) provider.VolumeSpec {
		return provider.VolumeSpec{Name: word.Draw(t, "name"), IDs: drawSlice(t, "ids", word)}
	})
	tmpfs     = rapid.Custom(func(t *rapid.T) provider.TmpfsSpec { return provider.TmpfsSpec{MountPath: word.Draw(t, "path")} })
	secretRef = rapid.Custom(func(t *rapid.T) provider.SecretRef {
		return provider.SecretRef{Key: word.Draw(t, "key"), Version: secrets.Version(count.Draw(t, "version"))}
	})
	configFile = rapid.Custom(func(t *rapid.T) provider.ConfigFile { return provider.ConfigFile{Name: word.Draw(t, "name")} })
	duration   = rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(count.Draw(t, "seconds")) * time.Second })
)

var deploySpec = rapid.Custom(func(t *rapid.T) provider.ServiceDeploySpec {
	return provider.ServiceDeploySpec{
		Name: "web", Image: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "image"), Env: drawMap(t, "env"), HealthCheck: drawPointer(t, "health", check),
		Command: drawSlice(t, "command", word), Args: drawSlice(t, "args", word), Ports: drawSlice(t, "ports", port),
		Resources: drawPointer(t, "resources", resources), Volumes: drawSlice(t, "volumes", volume), Secrets: drawSlice(t, "secrets", secretRef),
		ConfigFiles: drawSlice(t, "configs", configFile), Annotations: drawMap(t, "annotations"), Liveness: drawPointer(t, "liveness", check),
		Security: drawPointer(t, "security", security), User: drawPointer(t, "user", word), WorkingDir: drawPointer(t, "dir", word),
		Tmpfs: drawSlice(t, "tmpfs", tmpfs), Init: drawPointer(t, "init", rapid.Bool()), StopGrace: drawPointer(t, "grace", duration),
		StopSignal: drawPointer(t, "signal", word),
	}
})

// serviceSpec always has resources: a snapshot without any keeps the later ones,
// as SnapshotOf says.
var serviceSpec = rapid.Custom(func(t *rapid.T) provider.ServiceSpec {
	s := provider.ServiceSpec{Name: "web", Role: provider.RoleSidecar, DependsOn: drawSlice(t, "depends", word), Resources: resources.Draw(t, "size")}
	return deploySpec.Draw(t, "spec").Apply(s)
})

func TestRollbackRestoresEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := serviceSpec.Draw(t, "old")
		before := old.Clone()
		release := provider.SnapshotOf(old)
		now := old
		for range count.Draw(t, "deploys") {
			now = deploySpec.Draw(t, "deploy").Apply(now)
		}
		if back := release.DeploySpec().Apply(now); !reflect.DeepEqual(back, before) {
			t.Fatalf("rolled back to\n%+v, was\n%+v", back, before)
		}
	})
}

func TestASnapshotIsWhatRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		svc := serviceSpec.Draw(t, "service")
		release := provider.SnapshotOf(svc)
		for range 1 + count.Draw(t, "deploys") {
			d := deploySpec.Draw(t, "deploy")
			svc, release = d.Apply(svc), d.Snapshot(&release)
			if want := provider.SnapshotOf(svc); !reflect.DeepEqual(release, want) {
				t.Fatalf("the release is\n%+v, what runs is\n%+v", release, want)
			}
		}
	})
}

func TestSnapshotsSurviveJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := deploySpec.Draw(t, "deploy")
		roundTrip(t, d)
		roundTrip(t, d.Snapshot(nil))
		roundTrip(t, provider.SnapshotOf(serviceSpec.Draw(t, "service")))
	})
}

// roundTrip compares by what JSON can tell apart within a field.
func roundTrip[T any](t *rapid.T, v T) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(text) {
		t.Fatalf("%s became %s, %v", text, again, err)
	}
	a, b := reflect.ValueOf(v), reflect.ValueOf(back)
	for i := range a.NumField() {
		if k := a.Field(i).Kind(); k != reflect.Map && k != reflect.Slice && k != reflect.Pointer {
			continue
		}
		if a.Field(i).IsNil() != b.Field(i).IsNil() {
			t.Fatalf("%s: nil %v became nil %v in %s", a.Type().Field(i).Name, a.Field(i).IsNil(), b.Field(i).IsNil(), text)
		}
	}
}

func TestSnapshotsShareNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		svc, d := serviceSpec.Draw(t, "service"), deploySpec.Draw(t, "deploy")
		prior := provider.SnapshotOf(svc)
		for name, pair := range map[string][2]any{
			"Clone":      {svc, svc.Clone()},
			"SnapshotOf": {svc, provider.SnapshotOf(svc)},
			"DeploySpec": {prior, prior.DeploySpec()},
			"Snapshot":   {d, d.Snapshot(&prior)},
			"the prior":  {prior, d.Snapshot(&prior)},
			"Apply":      {svc, d.Apply(svc)},
			"the deploy": {d, d.Apply(svc)},
		} {
			if at := shared(reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])); at != "" {
				t.Fatalf("%s shares %s", name, at)
			}
		}
	})
}

// shared names a type of which a and b hold one value in common.
func shared(a, b reflect.Value) string {
	known := map[uintptr]bool{}
	walk(a, func(v reflect.Value) { known[v.Pointer()] = true })
	found := ""
	walk(b, func(v reflect.Value) {
		if known[v.Pointer()] {
			found = v.Type().String()
		}
	})
	return found
}

func walk(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			if v.Type().Elem().Size() > 0 {
				visit(v)
			}
			walk(v.Elem(), visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			visit(v)
		}
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}

func TestNilKeepsAndEmptyReplaces(t *testing.T) {
	prior := provider.ServiceSnapshot{
		Name: "web", Image: "a", Env: map[string]string{"A": "1"}, Command: []string{"serve"}, User: new("7"),
		Resources: &provider.ResourceSpec{CPUMillis: 100, MemoryMB: 64, Replicas: 3},
	}
	kept := provider.ServiceDeploySpec{Name: "web", Image: "b"}.Snapshot(&prior)
	if kept.Image != "b" || kept.Env["A"] != "1" || len(kept.Command) != 1 || *kept.User != "7" || *kept.Resources != *prior.Resources {
		t.Errorf("nil did not keep: %+v", kept)
	}
	replaced := provider.ServiceDeploySpec{
		Name: "web", Image: "b", Env: map[string]string{}, Command: []string{}, User: new(""), Resources: &provider.ResourceSpec{CPUMillis: 200},
	}.Snapshot(&prior)
	if len(replaced.Env) != 0 || len(replaced.Command) != 0 || *replaced.User != "" || *replaced.Resources != (provider.ResourceSpec{CPUMillis: 200, Replicas: 3}) {
		t.Errorf("empty did not replace: %+v, %+v", replaced, replaced.Resources)
	}
	if first := (provider.ServiceDeploySpec{Name: "web", Image: "b"}).Snapshot(nil); !reflect.DeepEqual(first, provider.ServiceSnapshot{Name: "web", Image: "b"}) {
		t.Errorf("without a prior: %+v", first)
	}
}

// TestFieldsThatCameLaterChangeNoOldForm: requests and releases are recognised by
// their forms.
func TestFieldsThatCameLaterChangeNoOldForm(t *testing.T) {
	for want, v := range map[string]any{
		`{"name":"data","mount_path":"/data","size_mb":0,"type":""}`: provider.VolumeSpec{Name: "data", MountPath: "/data", IDs: []string{}},
		`{"read_only_root_fs":true}`:                                 provider.SecuritySpec{ReadOnlyRootFS: true},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("the form is %s, %v, want %s", got, err, want)
		}
	}
	if (provider.SecuritySpec{PidsLimit: 1}).IsZero() {
		t.Error("a bound alone counts as nothing")
	}
}

func TestAZeroSizeIsNotRecorded(t *testing.T) {
	s := provider.SnapshotOf(provider.ServiceSpec{Name: "web", Image: "a"})
	if s.Resources != nil || s.DeploySpec().Resources != nil {
		t.Errorf("the snapshot records %+v", s.Resources)
	}
}

func TestEveryFieldThatAReleaseCanChangeIsInSnapshots(t *testing.T) {
	fixed := map[string]bool{"Role": true, "DependsOn": true} // the shape of the group
	spec := reflect.TypeFor[provider.ServiceSpec]()
	for _, other := range []reflect.Type{reflect.TypeFor[provider.ServiceDeploySpec](), reflect.TypeFor[provider.ServiceSnapshot]()} {
		for i := range spec.NumField() {
			name := spec.Field(i).Name
			f, ok := other.FieldByName(name)
			if ok == fixed[name] {
				t.Errorf("%s has the field %s: %v", other, name, ok)
				continue
			}
			if ok && strings.Split(f.Tag.Get("json"), ",")[0] != strings.Split(spec.Field(i).Tag.Get("json"), ",")[0] {
				t.Errorf("%s calls %s otherwise than the spec does: %s", other, name, f.Tag)
			}
		}
	}
}
