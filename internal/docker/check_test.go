package docker_test

import (
	"errors"
	"net/netip"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestAnAcceptedPathStaysBelowItsDirectory(t *testing.T) {
	part := rapid.SampledFrom([]string{"..", ".", "", "a", "..a", "b c", "é", "...", "\\"})
	rapid.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(rt, "parts"), "/")
		err := docker.CheckFiles("/data", []docker.File{{Path: name}})
		if err != nil && !errors.Is(err, docker.ErrInvalid) {
			rt.Fatalf("%q: %v", name, err)
		}
		full := path.Join("/data", name)
		if err == nil && (!strings.HasPrefix(full, "/data/") || full != "/data/"+name) {
			rt.Fatalf("accepted %q, which is %s", name, full)
		}
		if clean := name != "" && full == "/data/"+name; err != nil && clean {
			rt.Fatalf("refused %q: %v", name, err)
		}
	})
}

func TestFilesThatCannotBeMade(t *testing.T) {
	for what, f := range map[string]docker.File{
		"a directory":        {Path: "x", Mode: 1<<31 | 0o755},
		"a set-user-id file": {Path: "x", Mode: 1<<23 | 0o755},
		"a negative user":    {Path: "x", UID: -1},
		"a negative group":   {Path: "x", GID: -1},
	} {
		if err := docker.CheckFiles("/", []docker.File{f}); !errors.Is(err, docker.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := (docker.File{}).Permissions(); got != 0o644 {
		t.Errorf("permissions by default %v", got)
	}
	if got := (docker.File{Mode: 0o400}).Permissions(); got != 0o400 {
		t.Errorf("permissions %v", got)
	}
}

func TestNamesOfHosts(t *testing.T) {
	address := netip.MustParseAddr("10.0.0.1")
	for name, valid := range map[string]bool{
		"web": true, "web-0": true, "a.b-c.d9": true, "X": true, strings.Repeat("a", 64): true,
		"-a": false, "a-": false, "a..b": false, ".": false, "a.": false, "a b": false, "a:b": false, "a\nb": false, "a_b": false, "é": false,
	} {
		spec := docker.ContainerSpec{Hostname: name, Hosts: []docker.HostEntry{{Name: name, Address: address}}}
		if err := spec.CheckNames(); (err == nil) != valid || err != nil && !errors.Is(err, docker.ErrInvalid) {
			t.Errorf("%q: %v, want valid %v", name, err, valid)
		}
	}
	for what, spec := range map[string]docker.ContainerSpec{
		"too long a hostname":  {Hostname: strings.Repeat("a", 65)},
		"no name":              {Hosts: []docker.HostEntry{{Address: address}}},
		"no address":           {Hosts: []docker.HostEntry{{Name: "a"}}},
		"an address in a zone": {Hosts: []docker.HostEntry{{Name: "a", Address: netip.MustParseAddr("fe80::1%eth0")}}},
	} {
		if err := spec.CheckNames(); !errors.Is(err, docker.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
