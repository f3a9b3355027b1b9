package spec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	hostPorts := map[int]bool{}
	for name, s := range app.Services {
		if s.Name != name || CheckName(name) != nil || CheckFullName(app.Name, name) != nil {
			t.Errorf("service %q is called %q", name, s.Name)
		}
		if _, err := ParseImage(s.Image); err != nil {
			t.Error(err)
		}
		if s.Strategy != BlueGreen && s.Strategy != Recreate {
			t.Errorf("strategy %q", s.Strategy)
		}
		if s.Exclusive() && (s.Strategy != Recreate || s.Replicas != 1) {
			t.Errorf("an exclusive service has strategy %s and %d replicas", s.Strategy, s.Replicas)
		}
		if len(s.Domains) > 0 && s.Port == 0 {
			t.Error("domains without a port")
		}
		for _, v := range s.Volumes {
			if v.HostPath != "" && CheckHostPath(v.HostPath, []string{"/srv", "/mnt/media"}, []string{"/srv/secret"}) != nil {
				t.Errorf("host path %q", v.HostPath)
			}
		}
		for _, p := range s.Publish {
			if hostPorts[p.HostPort] {
				t.Errorf("port %d of the host is published twice", p.HostPort)
			}
			hostPorts[p.HostPort] = true
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
}
