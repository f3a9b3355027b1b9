package application

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

func TestContainerNamesAreStableAndTellImagesAndNoncesApart(t *testing.T) {
	// Golden: a container that runs must keep its name over upgrades of Berth.
	for _, c := range []struct{ service, image, nonce, want string }{
		{"shop-web", "nginx:1", "", "shop-web-ea996a05"},
		{"shop-web", "nginx:1", "0123456789ab", "shop-web-763be823"},
	} {
		if got := ContainerName(c.service, c.image, c.nonce); got != c.want {
			t.Errorf("ContainerName(%q, %q, %q) = %s, want %s", c.service, c.image, c.nonce, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		image, other := rapid.String().Draw(t, "image"), rapid.String().Draw(t, "other")
		nonce := rapid.StringMatching(`[0-9a-f]{0,12}`).Draw(t, "nonce")
		if image != other && ContainerName("a", image, nonce) == ContainerName("a", other, nonce) {
			t.Fatalf("%q and %q have one name", image, other)
		}
	})
}

func TestReplicaNames(t *testing.T) {
	base := ContainerName("shop-web", "nginx:1", "n")
	for index, want := range map[int]string{0: base, -1: base, 1: base + "-r1", 12: base + "-r12"} {
		if got := ReplicaContainerName("shop-web", "nginx:1", "n", index); got != want {
			t.Errorf("replica %d is %s, want %s", index, got, want)
		}
	}
}

func TestAServiceOwnsWholeShapesOnly(t *testing.T) {
	for _, c := range []struct {
		service, name string
		key           string // "": not owned
	}{
		{"web", "web-0a1b2c3d", "0a1b2c3d"},
		{"web", "web-0a1b2c3d-r1", "0a1b2c3d"},
		{"web", "web-0a1b2c3d-r10", "0a1b2c3d"},
		{"web", "web-0a1b2c3d-r0", ""},  // replica 0 has no suffix
		{"web", "web-0a1b2c3d-r01", ""}, // never written so
		{"web", "web-worker-0a1b2c3d", ""},
		{"web-worker", "web-worker-0a1b2c3d", "0a1b2c3d"},
		{"web", "web-0A1B2C3D", ""},
		{"web", "web-0a1b2c3", ""},
		{"web", "web-0a1b2c3d4", ""},
		{"web", "xweb-0a1b2c3d", ""},
		{"web", "web-0a1b2c3d-egress", ""},
		{"web", "web", ""},
		{"", "-0a1b2c3d", ""},
		// Ambiguous by name alone; labels decide which of the two it is.
		{"a", "a-deadbeef", "deadbeef"},
		{"a-deadbeef", "a-deadbeef-0a1b2c3d", "0a1b2c3d"},
		{"a", "a-deadbeef-0a1b2c3d", ""},
	} {
		if got := ReleaseKey(c.service, c.name); got != c.key {
			t.Errorf("ReleaseKey(%q, %q) = %q, want %q", c.service, c.name, got, c.key)
		}
		if got := OwnsContainer(c.service, c.name); got != (c.key != "") {
			t.Errorf("OwnsContainer(%q, %q) = %v", c.service, c.name, got)
		}
	}
}

func TestParsingUndoesNaming(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service := rapid.StringMatching(`[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,8}){0,3}`).Draw(t, "service")
		index := rapid.IntRange(0, 40).Draw(t, "replica")
		name := ReplicaContainerName(service, "img", "n", index)
		for _, n := range []string{name, name + "-egress"} {
			if got, ok := ParseContainerName(n); !ok || got != service {
				t.Fatalf("ParseContainerName(%q) = %q, %v, want %q", n, got, ok, service)
			}
		}
		if !OwnsContainer(service, name) {
			t.Fatalf("%s does not own %s", service, name)
		}
	})
	for _, name := range []string{"", "web", "web-", "web-123", "-0a1b2c3d", "web-0a1b2c3d-r0", "web_0a1b2c3d"} {
		if got, ok := ParseContainerName(name); ok {
			t.Errorf("ParseContainerName(%q) = %q, want none", name, got)
		}
	}
}

func TestControllerNames(t *testing.T) {
	if got := ControllerName("shop-web"); got != "application/shop-web" {
		t.Errorf("ControllerName: %s", got)
	}
	for name, want := range map[string]bool{
		"application/shop-web": true, "application/": false, "ingress/server": false, "shop-web": false,
		"application/delete-finalizer": false, "application/network-cleanup": false, "application/network-cleanup/n1": false,
	} {
		if got := IsServiceControllerName(name); got != want {
			t.Errorf("IsServiceControllerName(%q) = %v", name, got)
		}
	}
}

func TestNetworkVolumeAndAliasNames(t *testing.T) {
	if got := NetworkName("", "shop"); got != "berth-app-shop" {
		t.Errorf("default prefix: %s", got)
	}
	if got := NetworkName("lab", "shop"); got != "lab-app-shop" {
		t.Errorf("prefix lab: %s", got)
	}
	if a, b := VolumeName("", "a-b", "c"), VolumeName("", "a", "b-c"); a == b {
		t.Errorf("two volumes have one name: %s", a)
	}
	for _, c := range []struct{ app, name, want string }{
		{"shop", "shop-web", "web"}, {"shop", "shop-web-worker", "web-worker"}, {"", "web", "web"}, {"shop", "other", "other"}, {"shop", "shop-", "shop-"},
	} {
		if got := ServiceAlias(&store.DesiredService{AppID: c.app, Name: c.name}); got != c.want {
			t.Errorf("alias of %s in app %q: %s, want %s", c.name, c.app, got, c.want)
		}
	}
}

func TestALocalBuildIsPartOfTheImagesIdentity(t *testing.T) {
	one := NameImage(store.DesiredService{Image: "app:dev", LocalImageID: "sha256:1"})
	two := NameImage(store.DesiredService{Image: "app:dev", LocalImageID: "sha256:2"})
	plain := NameImage(store.DesiredService{Image: "app:dev"})
	if one == two || plain != "app:dev" {
		t.Errorf("identities %q, %q, %q", one, two, plain)
	}
}

func TestSameNode(t *testing.T) {
	for _, c := range []struct {
		a, b, local string
		want        bool
	}{
		{"", "", "n1", true}, {"", "n1", "n1", true}, {"n1", "", "n1", true}, {"n2", "", "n1", false}, {"n2", "n2", "n1", true}, {"n1", "n2", "", false},
	} {
		if got := SameNode(c.a, c.b, c.local); got != c.want {
			t.Errorf("SameNode(%q, %q, %q) = %v", c.a, c.b, c.local, got)
		}
	}
}

func TestTheAddressToDialIsTheContainersOwn(t *testing.T) {
	s := &docker.ContainerState{Name: "web", Address: netip.MustParseAddr("10.210.0.2"),
		Ports: []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: 18080, ContainerPort: 8080}}}
	if got, err := PrimaryAddr(s, 8080); err != nil || got != "10.210.0.2:8080" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []struct {
		s    *docker.ContainerState
		port int
	}{{nil, 80}, {s, 0}, {s, 70000}, {&docker.ContainerState{Name: "web"}, 80}} {
		if got, err := PrimaryAddr(bad.s, bad.port); err == nil {
			t.Errorf("PrimaryAddr(%v, %d) = %q, want an error", bad.s, bad.port, got)
		}
	}
}
