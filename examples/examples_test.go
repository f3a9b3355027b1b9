package examples

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/berth-cloud/berth/internal/spec"
)

func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("*/app.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.Parse(source, spec.Options{}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
