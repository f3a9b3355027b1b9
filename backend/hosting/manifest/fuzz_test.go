package manifest_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

// FuzzParse: no document breaks the reader; a refusal is of its kind and short; what
// is taken is taken again from its canonical form, is taken by the schema, and is
// taken by providers, names too long for them aside.
func FuzzParse(f *testing.F) {
	for _, d := range documents() {
		if len(d.text) < 4096 {
			f.Add([]byte(d.text))
		}
	}
	schema := compiled(f)
	f.Fuzz(func(t *testing.T, payload []byte) {
		stack, err := manifest.Parse(payload)
		if err != nil {
			if !errors.Is(err, backend.ErrInvalidManifest) || len(err.Error()) > 1<<16 {
				t.Errorf("got %d bytes: %.300s", len(err.Error()), err)
			}
			return
		}
		sameAgain(t, string(payload))
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("the schema refuses what the validator takes: %v", err)
		}
		if got := stack.Order(); len(got) != len(stack.Services) {
			t.Errorf("the order %q misses services", got)
		}
		for _, name := range stack.Names() {
			if _, err := stack.Workload(backend.LeaseItem{ServiceName: name, Quantity: 1}, somewhere()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestParseTakesMemoryInProportionToTheDocument allocates for the values that are
// allowed, and stops at the first beyond.
func TestParseTakesMemoryInProportionToTheDocument(t *testing.T) {
	for name, text := range map[string][]byte{
		"many lists":   []byte(`{"image":[` + string(bytes.Repeat([]byte("[],"), 300<<10)) + `[]]}`),
		"many members": []byte(`{"image":{` + string(bytes.Repeat([]byte(`"a":1,`), 150<<10)) + `"a":1}}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := manifest.Parse(text); err == nil {
			t.Errorf("%s: it was taken", name)
		}
		runtime.ReadMemStats(&after)
		got := after.TotalAlloc - before.TotalAlloc
		if got > 64<<20 {
			t.Errorf("%s: %d bytes are allocated", name, got)
		}
	}
}
