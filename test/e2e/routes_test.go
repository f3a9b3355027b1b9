package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestAHostThatAFailedChangeGaveUpGoesToTheAppThatTakesIt leaves a release
// serving at a host that its file no longer names, and gives the host to another
// app: which must not keep the data plane from taking any other change.
func TestAHostThatAFailedChangeGaveUpGoesToTheAppThatTakesIt(t *testing.T) {
	t.Parallel()
	b := start(t)
	v1, v2 := b.web("v1"), b.web("v2")
	first, second, third := b.app("first"), b.app("second"), b.app("third")
	host := "shared-" + b.tag + ".localhost"
	at := func(app, image, domain, more string) string {
		return fmt.Sprintf("name: %s\nservices:\n  web:\n    image: %s\n    port: 8080\n    domains: [%s]\n%s", app, image, domain, more)
	}
	b.apply(0, at(first, v1, host, quickProbe))
	b.apply(1, at(first, v2, "moved-"+b.tag+".localhost", quickProbe+"    env: {MODE: exit}\n"), "--yes")
	if got := b.get(host, "/version"); got != "v1\n" {
		t.Fatalf("after the failed change %s answers %q", host, got)
	}
	b.apply(0, at(second, v2, host, quickProbe))
	if got := b.get(host, "/version"); got != "v2\n" {
		t.Errorf("%s answers %q after another app took it", host, got)
	}
	b.apply(0, at(third, v1, third+".localhost", quickProbe))
}

// TestALinkOutOfTheAllowedFoldersIsNotMounted has a path that is fine as a text.
func TestALinkOutOfTheAllowedFoldersIsNotMounted(t *testing.T) {
	t.Parallel()
	allowed, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(allowed, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"inside": filepath.Join(allowed, "files"), "outside": "/etc"} {
		if err := os.Symlink(target, filepath.Join(allowed, link)); err != nil {
			t.Fatal(err)
		}
	}
	b := start(t, func(b *berth) { b.flags = []string{"--allow-host-paths", allowed} })
	app, v1 := b.app("links"), b.web("v1")
	mounting := func(link string) string {
		return site(app, v1, quickProbe+fmt.Sprintf("    volumes:\n      - {host_path: %s, path: /data, shared: true}\n", filepath.Join(allowed, link)))
	}
	b.apply(0, mounting("inside"))
	out := b.apply(1, mounting("outside"), "--yes")
	t.Log(out.text)
	b.has(out, "failed web: HostPathRefused", "links lead to /etc", "never mounted")
	for _, c := range b.engine.containers(b.instance, app) {
		for _, m := range c.Mounts {
			if m.Source != filepath.Join(allowed, "files") {
				t.Errorf("container %s mounts %s", c.Names, m.Source)
			}
		}
	}
}
