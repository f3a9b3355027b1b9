package infra_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
)

func TestARegistryOpensWhatItHasAndNamesTheRest(t *testing.T) {
	cloud := fake.NewCloud(fake.Options{Now: fake.NewClock(start).Now})
	failing := errors.New("no such device")
	r, err := infra.NewRegistry(map[string]infra.OpenFunc{
		"fake": cloud.Open,
		"qemu": func(_ context.Context, o infra.Options) (infra.Provider, error) {
			if o.Logger == nil || o.Now == nil {
				t.Error("a provider is opened without log or clock")
			}
			return nil, failing
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	good := infra.Options{Owner: owner}
	for _, row := range []struct {
		kind string
		o    infra.Options
		want error
		says string
	}{
		{"fake", good, nil, ""},
		{"qemu", good, failing, "open provider qemu"},
		{"aws", good, infra.ErrNotBuilt, `not built yet: "aws"; there are fake, qemu`},
		{"gcp", good, infra.ErrNotBuilt, `"gcp"`},
		{"google", good, infra.ErrNotBuilt, `"google"`},
		{"azure", good, infra.ErrNotBuilt, `"azure"`},
		{"proxmox", good, infra.ErrNotBuilt, `"proxmox"`},
		{"AWS", good, infra.ErrNotBuilt, `"AWS"`},
		{"quemu", good, infra.ErrUnknownKind, `unknown kind of provider: "quemu"; there are fake, qemu`},
		{"", good, infra.ErrUnknownKind, "there are fake, qemu"},
		{"fake", infra.Options{}, infra.ErrInvalidRequest, "the cluster"},
	} {
		p, err := r.Open(t.Context(), row.kind, row.o)
		if !errors.Is(err, row.want) || err != nil && !strings.Contains(err.Error(), row.says) {
			t.Errorf("open %q: %v, want %v that says %s", row.kind, err, row.want, row.says)
		}
		if (p != nil) != (row.want == nil) {
			t.Errorf("open %q gives %v beside %v", row.kind, p, err)
		}
	}
}

func TestARegistryRefusesWhatItCouldNotOpen(t *testing.T) {
	for name, kinds := range map[string]map[string]infra.OpenFunc{
		"no function": {"fake": nil},
		"a bad name":  {"Fake One": fake.NewCloud(fake.Options{Now: fake.NewClock(start).Now}).Open},
	} {
		if _, err := infra.NewRegistry(kinds); !errors.Is(err, infra.ErrInvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
