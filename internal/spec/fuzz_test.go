package spec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse holds that whatever is handed in, the answer is either a report
// with places in it or an app that keeps every promise of this package.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/broken/*.yaml", "testdata/good/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(source)
		}
	}
	f.Add([]byte(everything))
	f.Fuzz(func(t *testing.T, source []byte) {
		app, err := Parse(source, testOptions("app.yaml"))
		if err != nil {
			checkReport(t, err)
			return
		}
		checkApp(t, app)
	})
}

func checkReport(t *testing.T, err error) {
	t.Helper()
	var e *Errors
	if !errors.As(err, &e) || len(e.Problems) == 0 || !utf8.ValidString(err.Error()) {
		t.Fatalf("the error is %T: %q", err, err)
	}
	for _, p := range e.Problems {
		if p.Line < 1 || p.Column < 1 || p.What == "" {
			t.Errorf("a problem without a place or a word: %+v", p)
		}
	}
}

func checkApp(t *testing.T, app *App) {
	t.Helper()
	if CheckName(app.Name) != nil || len(app.Services) == 0 {
		t.Errorf("app %q with %d services", app.Name, len(app.Services))
	}
	containers := 0
	for name, s := range app.Services {
		containers += s.Replicas * len(s.Members())
		checkGroup(t, app, &s)
		if s.Name != name || CheckName(name) != nil || CheckFullName(app.Name, name) != nil {
			t.Errorf("service %q is called %q", name, s.Name)
		}
		if _, err := ParseImage(s.Image); err != nil {
			t.Error(err)
		}
		if s.Strategy != BlueGreen && s.Strategy != Recreate && s.Strategy != Rolling {
			t.Errorf("strategy %q", s.Strategy)
		}
		if surge, unavailable := s.RollingBounds(s.Replicas); surge == 0 && unavailable == 0 || unavailable > s.Replicas {
			t.Errorf("%d replicas roll by %d and %d", s.Replicas, surge, unavailable)
		}
		if s.Completes() && (s.Replicas != 1 || s.Port != 0 || len(s.Domains) > 0 || s.CompletionTimeout == 0) {
			t.Errorf("a job that serves: %+v", s)
		}
		if s.Exclusive() && (s.Strategy != Recreate || s.Replicas != 1) {
			t.Errorf("an exclusive service has strategy %s and %d replicas", s.Strategy, s.Replicas)
		}
		if len(s.Domains) > 0 && s.Port == 0 {
			t.Error("domains without a port")
		}
		if !slices.IsSorted(s.Domains) || s.Replicas < 1 || len(s.Hash()) != 64 || len(Diff(&s, &s)) != 0 {
			t.Errorf("service %+v", s)
		}
		raw, err := json.Marshal(s)
		var again Service
		if err != nil || json.Unmarshal(raw, &again) != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v came back as %+v", s, again)
		}
	}
	if containers > MaxContainers {
		t.Errorf("%d containers", containers)
	}
	checkHostPorts(t, app)
}

// checkGroup holds what is promised of the members of a service and of what it
// waits for.
func checkGroup(t *testing.T, app *App, s *Service) {
	t.Helper()
	names, ports := map[string]bool{}, map[int]bool{}
	for _, m := range s.Members() {
		if names[m.Name] || CheckName(m.Name) != nil || m.Port != 0 && ports[m.Port] {
			t.Errorf("the member %q with port %d", m.Name, m.Port)
		}
		names[m.Name], ports[m.Port] = true, true
		if _, err := ParseImage(m.Image); err != nil {
			t.Error(err)
		}
		for _, v := range m.Volumes {
			if v.HostPath != "" && CheckHostPath(v.HostPath, []string{"/srv", "/mnt/media"}, []string{"/srv/secret"}) != nil {
				t.Errorf("host path %q", v.HostPath)
			}
		}
		for _, name := range m.DependsOn {
			if name == m.Name || !slices.ContainsFunc(s.Members(), func(o Member) bool { return o.Name == name }) {
				t.Errorf("%s waits for %q", m.Name, name)
			}
		}
	}
	if len(names) > maxMembers {
		t.Errorf("%d members", len(names))
	}
	for _, ref := range s.SecretRefs() {
		if name, ok := strings.CutPrefix(ref.Key, app.Name+"/"); !ok || CheckSecretName(name) != nil || ref.Version != 0 {
			t.Errorf("the secret %+v", ref)
		}
	}
	for _, dep := range s.DependsOn {
		other, ok := app.Services[dep.Service]
		if !ok || dep.Service == s.Name || dep.Condition == "" || s.DependsTimeout == 0 {
			t.Errorf("%s waits for %+v", s.Name, dep)
		}
		if completed := dep.Condition == DependsCompleted; completed && !other.Completes() || dep.Condition == DependsReady && other.Completes() {
			t.Errorf("%s waits for what %s never is: %s", s.Name, dep.Service, dep.Condition)
		}
	}
}

func checkHostPorts(t *testing.T, app *App) {
	t.Helper()
	seen := map[int]bool{}
	for _, s := range app.Services {
		for _, p := range s.published() {
			if seen[p.HostPort] {
				t.Errorf("port %d of the host is published twice", p.HostPort)
			}
			seen[p.HostPort] = true
		}
	}
}
