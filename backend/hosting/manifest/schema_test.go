package manifest_test

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/berth-cloud/berth/backend/hosting/manifest"
)

// TestSchemaAndValidatorAgree holds both to the one table. What the schema cannot
// say is marked there, and has to be taken by it: a mark that is not needed is a fault.
func TestSchemaAndValidatorAgree(t *testing.T) {
	schema := compiled(t)
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(d.text)))
			if err != nil {
				t.Fatal(err)
			}
			wrong := schema.Validate(instance)
			switch refused := d.at != ""; {
			case refused && d.unsaid == "" && wrong == nil:
				t.Error("the validator refuses it and the schema takes it")
			case (!refused || d.unsaid != "") && wrong != nil:
				t.Errorf("the schema refuses it: %v", wrong)
			}
		})
	}
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(manifest.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	const address = "manifest.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(address, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(address)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestTheSchemaBelongsToWhoAsksForIt(t *testing.T) {
	manifest.Schema()[0] = 'x'
	if manifest.Schema()[0] != '{' {
		t.Error("a caller changed it for all")
	}
}
