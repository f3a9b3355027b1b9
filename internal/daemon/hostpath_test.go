package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAHostPathIsJudgedByWhereItsLinksLead(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	for _, dir := range []string{"srv/data", "srv/berth", "elsewhere", "disk"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"srv/inside": in("srv/data"), "srv/outside": in("elsewhere"), "srv/host": "/etc", "srv/store": in("srv/berth"),
		"srv/loop": in("srv/loop"), "allowed": in("disk"), "srv/dangling": in("nothing"),
	} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("disk/photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := Config{DataDir: in("srv/berth"), Socket: in("run/berth.sock"), AllowHostPaths: []string{in("srv"), in("allowed")}}
	for path, want := range map[string]string{ // to where it leads
		in("srv/data"): in("srv/data"), in("srv/inside"): in("srv/data"), in("allowed/photos"): in("disk/photos"),
	} {
		if got, err := cfg.hostPath(path); err != nil || got != want {
			t.Errorf("%s leads to %q, %v; want %s", path, got, err, want)
		}
	}
	for path, says := range map[string]string{
		in("srv/outside"):  "outside the folders",
		in("srv/host"):     "links lead to /etc",
		in("srv/store"):    "never mounted",
		in("srv/berth"):    "never mounted",
		in("srv"):          "never mounted", // it holds the data directory
		in("srv/dangling"): "does not exist",
		in("srv/none"):     "does not exist",
		in("srv/loop"):     "too many links",
	} {
		if got, err := cfg.hostPath(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s leads to %q, %v; want an error with %q", path, got, err, says)
		}
	}
}

func TestNoHostPathIsMountedByAnEngineElsewhere(t *testing.T) {
	cfg := Config{DataDir: "/var/lib/berth", Socket: "/run/berth.sock", DockerHost: "tcp://192.0.2.1:2375", AllowHostPaths: []string{"/"}}
	if _, err := cfg.hostPath(t.TempDir()); err == nil || !strings.Contains(err.Error(), "another machine") {
		t.Errorf("error %v", err)
	}
}

func TestTheEnginesSocketIsNeverMounted(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{DataDir: "/var/lib/berth", Socket: "/run/berth.sock", DockerHost: "unix://" + dir + "/engine.sock", AllowHostPaths: []string{dir}}
	if _, err := cfg.hostPath(dir); err == nil || !strings.Contains(err.Error(), "engine.sock") {
		t.Errorf("error %v", err)
	}
}
