package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The index of the documentation has every page of the three folders for readers, each
// once.
func TestTheIndexHasEveryPageOnce(t *testing.T) {
	const docs = "../../docs"
	raw, err := os.ReadFile(filepath.Join(docs, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, link := range regexp.MustCompile(`\]\(((?:guides|concepts|reference)/[^)#]+)`).FindAllStringSubmatch(string(raw), -1) {
		listed[link[1]]++
	}
	for _, folder := range []string{"guides", "concepts", "reference"} {
		pages, err := filepath.Glob(filepath.Join(docs, folder, "*.md"))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", folder, len(pages), err)
		}
		for _, page := range pages {
			name := strings.TrimPrefix(filepath.ToSlash(page), docs+"/")
			if listed[name] != 1 {
				t.Errorf("docs/README.md lists %s %d times", name, listed[name])
			}
		}
	}
}
