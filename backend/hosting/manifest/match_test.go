package manifest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

func items(names ...string) []backend.LeaseItem {
	var out []backend.LeaseItem
	for _, n := range names {
		out = append(out, backend.LeaseItem{SKU: "s", Quantity: 1, ServiceName: n})
	}
	return out
}

func TestServicesMatchTheItemsOfALeaseOneToOne(t *testing.T) {
	single, stack := parse(t, `{"image":"a"}`), parse(t, two("", ""))
	for name, c := range map[string]struct {
		stack *manifest.Stack
		items []backend.LeaseItem
		kind  error
		want  string
	}{
		"one without a name":       {single, items(""), nil, ""},
		"one by its default":       {single, items("app"), nil, ""},
		"one by another name":      {single, items("web"), backend.ErrInvalidManifest, `manifest service "app" has no matching lease item; lease item "web" has no matching manifest service`},
		"two in another order":     {stack, items("b", "a"), nil, ""},
		"one item too few":         {stack, items("a"), backend.ErrInvalidManifest, `manifest service "b" has no matching lease item`},
		"one item too many":        {stack, items("a", "b", "c"), backend.ErrInvalidManifest, `lease item "c" has no matching manifest service`},
		"an item twice":            {stack, items("a", "b", "b"), backend.ErrInvalidManifest, `lease item "b" is there 2 times`},
		"a stack with no name":     {stack, items(""), backend.ErrInvalidManifest, `lease item "app" has no matching manifest service`},
		"two items without a name": {stack, items("", ""), backend.ErrInvalidManifest, ""},
		"no items":                 {stack, nil, backend.ErrValidation, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.stack.Match(c.items)
			if !errors.Is(err, c.kind) || (err == nil) != (c.kind == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAMatchOfManyIsToldInFewWords(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `,"s%d":{"image":"a"}`, i)
	}
	err := parse(t, `{"services":{`+b.String()[1:]+`}}`).Match(items(""))
	if err == nil || len(err.Error()) > 5000 || !strings.HasSuffix(err.Error(), "; and 151 more") {
		t.Errorf("got %v", err)
	}
}

func TestImagesAreCompleteAndEachThereOnce(t *testing.T) {
	stack := parse(t, `{"services":{"a":{"image":"nginx"},"b":{"image":"docker.io/library/nginx:latest"},"c":{"image":"index.docker.io/x/y:1"},"d":{"image":"ghcr.io/x/y@sha256:`+strings.Repeat("a", 64)+`"}}}`)
	want := "[docker.io/library/nginx:latest docker.io/x/y:1 ghcr.io/x/y@sha256:" + strings.Repeat("a", 64) + "]"
	if got := fmt.Sprint(stack.Images()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyTheNamedRegistriesAreAllowed(t *testing.T) {
	policy, err := manifest.NewPolicy("docker.io", "ghcr.io", "r.example:5000")
	if err != nil {
		t.Fatal(err)
	}
	for image, allowed := range map[string]bool{
		"nginx": true, "a/b": true, "docker.io/a": true, "index.docker.io/a/b": true, "ghcr.io/a/b:1": true, "r.example:5000/a": true,
		"quay.io/a/b": false, "r.example/a": false, "r.example:5001/a": false, "x.ghcr.io/a": false, "ghcr.io.evil.example/a": false, "GHCR.io/a": false, "localhost/a": false, "docker.io.x/a": false,
	} {
		err := policy.Check(parse(t, `{"image":"`+image+`"}`))
		if allowed != (err == nil) || !allowed && !errors.Is(err, backend.ErrImageNotAllowed) {
			t.Errorf("%s: %v", image, err)
		}
	}
	err = policy.Check(parse(t, `{"services":{"a":{"image":"quay.io/secret/x"},"b":{"image":"nginx"}}}`))
	if want := `validation error: image not allowed: the image of service "a" is from "quay.io"; allowed are docker.io, ghcr.io, r.example:5000`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNoRegistryAllowsNothing(t *testing.T) {
	none, err := manifest.NewPolicy()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []manifest.Policy{none, {}} {
		if err := p.Check(parse(t, `{"image":"nginx"}`)); !errors.Is(err, backend.ErrImageNotAllowed) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWhatIsNoRegistryIsNotAllowedBySilence(t *testing.T) {
	for _, d := range []string{"", "*", "*.io", "ghcr", "ghcr.io/", "ghcr.io/a", "https://ghcr.io", "index.docker.io", "ghcr.io ", "a b"} {
		if _, err := manifest.NewPolicy("docker.io", d); !errors.Is(err, manifest.ErrRegistry) {
			t.Errorf("%q: %v", d, err)
		}
	}
	if _, err := manifest.NewPolicy("localhost", "127.0.0.1:5000"); err != nil {
		t.Error(err)
	}
}
