package backend_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
)

func item(service string, quantity int) backend.LeaseItem {
	return backend.LeaseItem{SKU: "small", Quantity: quantity, ServiceName: service, CustomDomain: "shop.example"}
}

func TestItemsAreNamedOrRefused(t *testing.T) {
	invalid, manifest := backend.ErrValidation, backend.ErrInvalidManifest
	for name, c := range map[string]struct {
		items []backend.LeaseItem
		want  []string // names of services
		err   error
	}{
		"none":                          {nil, nil, invalid},
		"no items, but a list":          {[]backend.LeaseItem{}, nil, invalid},
		"one without a name":            {[]backend.LeaseItem{item("", 1)}, []string{"app"}, nil},
		"one with a name":               {[]backend.LeaseItem{item("web", 1)}, []string{"web"}, nil},
		"two with names":                {[]backend.LeaseItem{item("web", 1), item("db", 2)}, []string{"web", "db"}, nil},
		"the first without a name":      {[]backend.LeaseItem{item("", 1), item("db", 2)}, nil, manifest},
		"the last without a name":       {[]backend.LeaseItem{item("web", 1), item("", 2)}, nil, manifest},
		"two without names":             {[]backend.LeaseItem{item("", 1), item("", 2)}, nil, manifest},
		"a quantity of none":            {[]backend.LeaseItem{item("web", 0)}, []string{"web"}, nil},
		"a quantity below none":         {[]backend.LeaseItem{item("web", -1)}, nil, invalid},
		"the largest quantity":          {[]backend.LeaseItem{item("web", backend.MaxQuantity)}, []string{"web"}, nil},
		"a quantity above it":           {[]backend.LeaseItem{item("web", backend.MaxQuantity+1)}, nil, invalid},
		"the largest sum":               {[]backend.LeaseItem{item("web", 1000), item("db", 24)}, []string{"web", "db"}, nil},
		"a sum above it":                {[]backend.LeaseItem{item("web", 1000), item("db", 25)}, nil, invalid},
		"a sum that would wrap around":  {[]backend.LeaseItem{item("web", 1<<62), item("db", 1<<62), item("c", 1<<62)}, nil, invalid},
		"one below none beside a large": {[]backend.LeaseItem{item("web", 1024), item("db", -1000), item("c", 1000)}, nil, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.items)
			req := backend.ProvisionRequest{LeaseUUID: "1", Items: c.items}
			err := backend.NormalizeProvisionRequest(&req)
			if !slices.Equal(c.items, before) {
				t.Errorf("the caller's items were %v and are %v", before, c.items)
			}
			if c.err != nil {
				if !errors.Is(err, c.err) || !errors.Is(err, invalid) || !slices.Equal(req.Items, before) {
					t.Errorf("%v, with items %v; want %v, and nothing changed", err, req.Items, c.err)
				}
				if !errors.Is(c.err, manifest) && errors.Is(err, manifest) {
					t.Errorf("it blames the manifest: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				wanted := before[i]
				wanted.ServiceName = want
				if req.Items[i] != wanted {
					t.Errorf("item %d is %+v; want %+v", i+1, req.Items[i], wanted)
				}
			}
		})
	}
}

func TestWhatIsNormalIsLeftAsItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backend.LeaseItem {
			return item(rapid.SampledFrom([]string{"", "web", "db"}).Draw(t, "service"), rapid.IntRange(-1, 600).Draw(t, "quantity"))
		}), 0, 4).Draw(t, "items")
		once, err := backend.NormalizeItems(items)
		if err != nil {
			if once != nil || !errors.Is(err, backend.ErrValidation) {
				t.Fatalf("%v beside %v", once, err)
			}
			return
		}
		twice, err := backend.NormalizeItems(once)
		if err != nil || !slices.Equal(once, twice) {
			t.Fatalf("%v became %v, and then %v, %v", items, once, twice, err)
		}
	})
}
