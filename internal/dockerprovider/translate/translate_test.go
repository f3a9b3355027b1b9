package translate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

func workload(services ...provider.ServiceSpec) Workload {
	return Workload{ID: id.New(id.KindWorkload), Services: services, Replicas: 1}
}

func TestStrategyFollowsWhatTwoReleasesCannotShare(t *testing.T) {
	volume := []provider.VolumeSpec{{Name: "data", MountPath: "/data"}}
	shared := []provider.VolumeSpec{{Name: "data", MountPath: "/data", Shared: true}}
	for _, tc := range []struct {
		name  string
		kind  provider.WorkloadKind
		main  provider.ServiceSpec
		asked string
		want  spec.Strategy
	}{
		{"by default", "", provider.ServiceSpec{}, "", spec.BlueGreen},
		{"rolling", "", provider.ServiceSpec{}, provider.StrategyRolling, spec.Rolling},
		{"recreate", "", provider.ServiceSpec{}, provider.StrategyRecreate, spec.Recreate},
		{"one writer", "", provider.ServiceSpec{Volumes: volume}, provider.StrategyRolling, spec.Recreate},
		{"many writers", "", provider.ServiceSpec{Volumes: shared}, "", spec.BlueGreen},
		{"a port of the host", "", provider.ServiceSpec{Ports: []provider.PortSpec{{Container: 80, Host: 8080}}}, "", spec.Recreate},
		{"a volume for each replica", provider.KindStatefulSet, provider.ServiceSpec{Volumes: volume}, provider.StrategyBlueGreen, spec.Rolling},
		{"recreate of those", provider.KindStatefulSet, provider.ServiceSpec{Volumes: volume}, provider.StrategyRecreate, spec.Recreate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := workload(tc.main)
			w.Kind, w.Strategy = tc.kind, tc.asked
			s, err := Service(w)
			if err != nil || s.Strategy != tc.want {
				t.Errorf("got %q, %v, want %q", s.Strategy, err, tc.want)
			}
		})
	}
}

func TestInitsRunInTheOrderOfTheirDependencies(t *testing.T) {
	init := func(name string, after ...string) provider.ServiceSpec {
		return provider.ServiceSpec{Name: name, Role: provider.RoleInit, DependsOn: after}
	}
	s, err := Service(workload(
		init("c", "b"), init("a"), provider.ServiceSpec{Name: "web", DependsOn: []string{"c", "cache"}}, init("b"),
		provider.ServiceSpec{Name: "cache", Role: provider.RoleSidecar, DependsOn: []string{"a"}},
		provider.ServiceSpec{Name: "agent", Role: provider.RoleSidecar, DependsOn: []string{"web"}},
	))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range s.Inits {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("inits %v", names)
	}
	if !slices.Equal(s.SidecarsFirst, []string{"cache"}) || len(s.Sidecars[0].DependsOn) != 0 || !slices.Equal(s.Sidecars[1].DependsOn, []string{"web"}) {
		t.Errorf("main waits for %v, sidecars %+v", s.SidecarsFirst, s.Sidecars)
	}
}

func TestWorkloadWithoutMainIsInvalid(t *testing.T) {
	if _, err := Service(workload(provider.ServiceSpec{Name: "a", Role: provider.RoleInit})); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestCapabilitiesAreTheDefaultOnesButWhatIsDroppedAndAdded(t *testing.T) {
	for _, tc := range []struct {
		security *provider.SecuritySpec
		want     string
	}{
		{nil, "CHOWN DAC_OVERRIDE FOWNER KILL NET_BIND_SERVICE SETGID SETUID"},
		{&provider.SecuritySpec{CapDrop: []string{"CHOWN", "KILL"}}, "DAC_OVERRIDE FOWNER NET_BIND_SERVICE SETGID SETUID"},
		{&provider.SecuritySpec{CapDrop: []string{"ALL"}}, ""},
		{&provider.SecuritySpec{CapDrop: []string{"ALL"}, CapAdd: []string{"NET_RAW", "CHOWN"}}, "CHOWN NET_RAW"},
	} {
		if got := strings.Join(capabilities(tc.security), " "); got != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.security, got, tc.want)
		}
	}
}

func TestPinnedKeysComeBack(t *testing.T) {
	for _, tc := range []struct {
		key string
		v   secrets.Version
	}{{"db/password", 0}, {"db/password", 7}, {"a@b:c", 12}} {
		key, v, err := Unpinned(Pinned(tc.key, tc.v))
		if err != nil || key != tc.key || v != tc.v {
			t.Errorf("%s %d came back as %s %d, %v", tc.key, tc.v, key, v, err)
		}
	}
	for _, bad := range []string{"a#", "a#0", "a#-1", "a#x"} {
		if _, _, err := Unpinned(bad); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestTenantsNeverShareANetwork(t *testing.T) {
	one := id.New(id.KindWorkload)
	if App(one, "a", "") != one.String() {
		t.Error("a network of its own is not named after the workload")
	}
	seen := map[string]string{}
	for _, pair := range [][2]string{{"a", "net"}, {"b", "net"}, {"a", "other"}, {"an", "et"}} {
		app := App(one, pair[0], pair[1])
		if other := seen[app]; other != "" || len(app) > 40 {
			t.Errorf("%v has the network %s of %s", pair, app, other)
		}
		seen[app] = pair[0] + " " + pair[1]
	}
	if App(one, "a", "net") != App(id.New(id.KindWorkload), "a", "net") {
		t.Error("two workloads of one tenant do not meet")
	}
}

func TestImagesOfWhatIsPinnedAreThoseOfTheRelease(t *testing.T) {
	s, err := Service(workload(provider.ServiceSpec{Name: "web", Image: "web:1"}, provider.ServiceSpec{Name: "side", Role: provider.RoleSidecar, Image: "side:1"}))
	if err != nil {
		t.Fatal(err)
	}
	r := &store.Release{Resolved: "web@sha256:aa", Members: []store.MemberImage{{Name: "side", Resolved: "side@sha256:bb"}}}
	got := PinImages(s, r, func(service string) bool { return service == "side" })
	if got.Image != "web:1" || got.Sidecars[0].Image != "side@sha256:bb" || s.Sidecars[0].Image != "side:1" {
		t.Errorf("images %s and %s, before %s", got.Image, got.Sidecars[0].Image, s.Sidecars[0].Image)
	}
	if got := PinImages(s, nil, func(string) bool { return true }); got.Image != "web:1" {
		t.Errorf("without a release the image is %s", got.Image)
	}
}

func TestAmountsAreSpelledAsSpecsSpellThem(t *testing.T) {
	for in, want := range map[provider.IntOrPercent]spec.Amount{"0": "0", "00": "0", "07": "7", "025%": "25%", "0%": "0%", "12": "12"} {
		if got := amount(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}
