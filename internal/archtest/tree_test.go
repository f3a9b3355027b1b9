package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxLines is the length that no Go file exceeds, generated ones aside.
const maxLines = 800

// maxText is the size from which a file is taken for data and not read.
const maxText = 2 << 20

var readTree = sync.OnceValues(func() (map[string][]byte, error) {
	files := map[string][]byte{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "node_modules"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxText {
			return err
		}
		content, err := fs.ReadFile(root, path)
		if err == nil && !bytes.Contains(content, []byte{0}) {
			files[path] = content
		}
		return err
	})
	return files, err
})

// tree is every text file of the checkout by its path in it.
func tree(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("the tree is empty: the rules looked in the wrong place")
	}
	return files
}

func TestNoFileIsTooLong(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	for path, content := range tree(t) {
		if n := bytes.Count(content, []byte("\n")); strings.HasSuffix(path, ".go") && n > maxLines && !generated.Match(content) {
			t.Errorf("%s has %d lines; split it, %d is the most", path, n, maxLines)
		}
	}
}

func TestNoFileNamesAPlaceOnSomebodysMachine(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// Pieced together, so that this file does not find itself.
	homes := regexp.MustCompile(`/(?:ho` + `me|Us` + `ers|wo` + `rk)/[a-z][\w.-]*/`)
	for path, content := range tree(t) {
		for i, line := range strings.Split(string(content), "\n") {
			if found := homes.FindString(line); found != "" {
				t.Errorf("%s:%d names %s, a place on somebody's machine", path, i+1, found)
			}
			if strings.Contains(line, checkout+"/") {
				t.Errorf("%s:%d names this checkout, %s", path, i+1, checkout)
			}
		}
	}
}
