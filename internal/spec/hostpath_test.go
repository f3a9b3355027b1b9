package spec

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHostPathsNeedTheOperator(t *testing.T) {
	allow, deny := []string{"/srv", "/mnt/media/", "/data"}, []string{"/srv/secret", "/var/lib/berth/"}
	for _, p := range []string{"/srv/a", "/srv/secrets", "/mnt/media", "/mnt/media/films", "/data/x"} {
		if err := CheckHostPath(p, allow, deny); err != nil {
			t.Errorf("CheckHostPath(%q) = %v, want none", p, err)
		}
	}
	for _, p := range []string{
		"/srv", // holds /srv/secret
		"/srvx", "/mnt", "/mnt/mediax", "/home/a", "/srv/secret", "/srv/secret/a", "", "srv", "./srv", "/srv/../etc", "/srv/", "/srv//a", "/srv/.",
		"/srv/a\nb", "/srv/docker.sock", "/srv/" + strings.Repeat("a", 2000),
	} {
		if err := CheckHostPath(p, allow, deny); err == nil {
			t.Errorf("CheckHostPath(%q) passes", p)
		}
	}
	if err := CheckHostPath("/srv/a", nil, nil); err == nil {
		t.Error("a host path passes though the operator allows none")
	}
}

func TestThePartsThatHoldAHostAreNeverMounted(t *testing.T) {
	for _, p := range []string{
		"/", "/etc", "/etc/passwd", "/root", "/root/.ssh", "/boot", "/sys", "/sys/fs", "/proc", "/proc/1/root", "/var/run", "/run/docker.sock",
		"/var/run/docker.sock", "/var/lib/docker", "/var/lib/docker/volumes", "/var/lib", "/var", "/dev", "/dev/sda", "/usr", "/usr/bin", "/lib",
	} {
		if err := CheckHostPath(p, []string{"/"}, nil); err == nil {
			t.Errorf("CheckHostPath(%q) passes when everything is allowed", p)
		}
	}
}

func TestAnAllowedPathIsInAnAllowedFolderAndTouchesNoDeniedOne(t *testing.T) {
	part := rapid.SampledFrom([]string{"srv", "etc", "var", "lib", "docker", "run", "x", "..", ".", "", "docker.sock", "secret"})
	rapid.Check(t, func(t *rapid.T) {
		p := "/" + strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "parts"), "/")
		if CheckHostPath(p, []string{"/srv", "/var"}, []string{"/srv/secret"}) != nil {
			return
		}
		inside := strings.HasPrefix(p, "/srv/") || strings.HasPrefix(p, "/var/")
		bad := strings.Contains(p, "..") || strings.HasPrefix(p+"/", "/srv/secret/") || strings.HasPrefix(p+"/", "/var/run/") ||
			strings.HasPrefix(p+"/", "/var/lib/docker/") || p == "/srv" || p == "/var" || p == "/var/lib" || strings.HasSuffix(p, "docker.sock")
		if !inside || bad {
			t.Fatalf("%q passes", p)
		}
	})
}
