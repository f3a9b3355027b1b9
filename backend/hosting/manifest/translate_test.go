package manifest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var update = flag.Bool("update", false, "write the workloads that tests expect")

func somewhere() manifest.Place {
	return manifest.Place{Size: manifest.Size{CPUCores: 0.25, MemoryMB: 256}, BindAddress: netip.MustParseAddr("203.0.113.7")}
}

// TestAServiceBecomesExactlyThisWorkload holds each folder of testdata: the document,
// and for each service the whole of what a provider is asked for.
func TestAServiceBecomesExactlyThisWorkload(t *testing.T) {
	withVolume, everywhere := somewhere(), somewhere()
	withVolume.Volumes = []provider.VolumeSpec{{Name: "v0", MountPath: "/var/lib/data"}, {Name: "v1", MountPath: "/run"}}
	withVolume.Tmpfs = []string{"/var/lib/data", "/tmp", "/var/extra"}
	everywhere.BindAddress = netip.IPv6Unspecified()
	for name, c := range map[string]struct {
		service  string
		quantity int
		place    manifest.Place
	}{
		"bare":    {"", 1, somewhere()},
		"full":    {"web", 3, somewhere()},
		"shell":   {"db", 2, withVolume},
		"anyhost": {"app", 1, everywhere},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := os.ReadFile(filepath.Join("testdata", "workloads", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			w, err := parse(t, string(document)).Workload(backend.LeaseItem{SKU: "s", Quantity: c.quantity, ServiceName: c.service}, c.place)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(w, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", "workloads", name+".golden")
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEveryContainerIsHardenedWhateverTheDocumentSays(t *testing.T) {
	for _, d := range documents() {
		if d.at != "" {
			continue
		}
		stack := parse(t, d.text)
		for _, name := range stack.Names() {
			w, err := stack.Workload(backend.LeaseItem{ServiceName: name, Quantity: 1}, somewhere())
			if err != nil {
				t.Errorf("%s: %v", d.name, err)
				continue
			}
			s := w.Request.Services[0]
			sec := s.Security
			if len(w.Request.Services) != 1 || sec.PidsLimit != 256 || !sec.ReadOnlyRootFS || sec.NoNewPrivileges == nil || !*sec.NoNewPrivileges ||
				!reflect.DeepEqual(sec.CapDrop, []string{"ALL"}) || sec.CapAdd != nil || s.Resources.CPUMillis != 250 || s.Resources.MemoryMB != 256 || s.Volumes != nil {
				t.Errorf("%s: %+v, %+v", d.name, s, *sec)
			}
			for _, p := range s.Ports {
				if p.Host != 0 || p.Public || p.BindAddress != "" && p.BindAddress != "203.0.113.7" {
					t.Errorf("%s: port %+v", d.name, p)
				}
			}
			for _, dir := range s.Tmpfs {
				if dir.SizeMB != 64 {
					t.Errorf("%s: %+v", d.name, dir)
				}
			}
		}
	}
}

func TestAServiceThatCannotRunIsRefusedByItsKind(t *testing.T) {
	long := strings.Repeat("a", provider.MaxStatefulNameLength+1)
	stack := parse(t, `{"services":{"app":{"image":"a","tmpfs":["/data"]},"`+long+`":{"image":"a"}}}`)
	item := func(name string, n int) backend.LeaseItem {
		return backend.LeaseItem{ServiceName: name, Quantity: n}
	}
	place := func(change func(*manifest.Place)) manifest.Place {
		p := somewhere()
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		item  backend.LeaseItem
		place manifest.Place
		want  error
	}{
		"another service":    {item("x", 1), somewhere(), backend.ErrInvalidManifest},
		"too long to keep":   {item(long, 1), place(func(p *manifest.Place) { p.Keeps = true }), backend.ErrInvalidManifest},
		"with a volume":      {item(long, 1), place(func(p *manifest.Place) { p.Volumes = []provider.VolumeSpec{{Name: "v", MountPath: "/data"}} }), backend.ErrInvalidManifest},
		"none of it":         {item("", 0), somewhere(), backend.ErrValidation},
		"less than none":     {item("", -1), somewhere(), backend.ErrValidation},
		"too many":           {item("", 1001), somewhere(), backend.ErrValidation},
		"a volume in memory": {item("", 1), place(func(p *manifest.Place) { p.Volumes = []provider.VolumeSpec{{Name: "v", MountPath: "/data"}} }), backend.ErrInvalidManifest},
		"no CPU":             {item("", 1), place(func(p *manifest.Place) { p.Size.CPUCores = 0 }), manifest.ErrPlace},
		"hardly any CPU":     {item("", 1), place(func(p *manifest.Place) { p.Size.CPUCores = 0.0004 }), manifest.ErrPlace},
		"CPU that is none":   {item("", 1), place(func(p *manifest.Place) { p.Size.CPUCores = math.NaN() }), manifest.ErrPlace},
		"endless CPU":        {item("", 1), place(func(p *manifest.Place) { p.Size.CPUCores = math.Inf(1) }), manifest.ErrPlace},
		"no memory":          {item("", 1), place(func(p *manifest.Place) { p.Size.MemoryMB = 0 }), manifest.ErrPlace},
		"no address":         {item("", 1), place(func(p *manifest.Place) { p.BindAddress = netip.Addr{} }), manifest.ErrPlace},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := stack.Workload(c.item, c.place); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := stack.Workload(item("", 1000), somewhere()); err != nil {
		t.Error(err)
	}
}

// A name is as long as providers take it, so that none is refused that they would run
// and none accepted that they would not.
func TestANameIsAsLongAsTheProviderTakesIt(t *testing.T) {
	stateless, stateful := somewhere(), somewhere()
	stateful.Keeps = true
	for _, c := range []struct {
		length int
		place  manifest.Place
		taken  bool
	}{
		{provider.MaxNameLength + 1, stateless, true},
		{provider.MaxServiceNameLength, stateless, true},
		{provider.MaxNameLength + 1, stateful, true},
		{provider.MaxStatefulNameLength, stateful, true},
		{provider.MaxStatefulNameLength + 1, stateful, false},
		{provider.MaxServiceNameLength, stateful, false},
	} {
		name := strings.Repeat("n", c.length)
		w, err := parse(t, `{"services":{"`+name+`":{"image":"a"}}}`).Workload(backend.LeaseItem{ServiceName: name, Quantity: 1}, c.place)
		if c.taken {
			if err != nil {
				t.Errorf("%d characters: %v", c.length, err)
				continue
			}
			w.Request.InstanceID, w.Request.ReleaseID, w.Request.TenantID = id.New(id.KindWorkload), id.New(id.KindRelease), "t"
			err = w.Request.Validate()
		}
		if c.taken != (err == nil) || err != nil && !strings.Contains(err.Error(), "more than 59 characters") {
			t.Errorf("%d characters, kept %t: %v", c.length, c.place.Keeps, err)
		}
	}
}

func TestAWorkloadSharesNothingWithItsStack(t *testing.T) {
	const text = `{"image":"a","env":{"A":"1"},"labels":{"l":"1"},"command":["c"],"args":["a"],"health_check":{"test":["CMD","t"]}}`
	stack := parse(t, text)
	w, err := stack.Workload(backend.LeaseItem{Quantity: 1}, somewhere())
	if err != nil {
		t.Fatal(err)
	}
	s := w.Request.Services[0]
	s.Env["A"], s.Annotations["l"], s.Command[0], s.Args[0], s.HealthCheck.Exec[0] = "x", "x", "x", "x", "x"
	if !reflect.DeepEqual(stack, parse(t, text)) {
		t.Error("a change of the workload changed the stack")
	}
}

// TestAChangeLeavesNothingOfTheDocumentBefore deploys each good workload over a full
// one.
func TestAChangeLeavesNothingOfTheDocumentBefore(t *testing.T) {
	full := one(`"ports":{"80/tcp":{}},"env":{"A":"1"},"labels":{"l":"1"},"command":["c"],"args":["a"],"health_check":{"test":["CMD","t"]},"tmpfs":["/x"],"user":"a","init":true,"stop_grace_period":"1m"`)
	workload := func(text string) manifest.Workload {
		w, err := parse(t, text).Workload(backend.LeaseItem{Quantity: 2}, somewhere())
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	before := workload(full)
	for _, text := range []string{`{"image":"b"}`, full, one(`"env":{"B":"2"},"health_check":{"test":["CMD-SHELL","t"]}`)} {
		after := workload(text)
		got, err := provider.ApplyDeploy(before.Request.Kind, before.Request.Services, after.Change())
		if err != nil {
			t.Fatal(err)
		}
		gotJSON, err := json.Marshal(plainService(got[0]))
		if err != nil {
			t.Fatal(err)
		}
		wantJSON, err := json.Marshal(plainService(after.Request.Services[0]))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(gotJSON, wantJSON) {
			t.Errorf("got  %s\nwant %s", gotJSON, wantJSON)
		}
	}
}

// plainService has no check where it has a zero one.
func plainService(s provider.ServiceSpec) provider.ServiceSpec {
	if s.HealthCheck != nil && s.HealthCheck.IsZero() {
		s.HealthCheck = nil
	}
	if s.Liveness != nil && s.Liveness.IsZero() {
		s.Liveness = nil
	}
	return s
}
