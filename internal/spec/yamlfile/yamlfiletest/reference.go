package yamlfiletest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Key is a key as the table of its section must show it.
type Key struct {
	Name     string
	Required bool
}

// Keys are those of a table.
func Keys[D yamlfile.Embedder, T any](fields []yamlfile.Field[D, T]) []Key {
	all := make([]Key, len(fields))
	for i, f := range fields {
		all[i] = Key{f.Name, f.Required}
	}
	return all
}

// CheckReference compares the tables of a page with the sections that a decoder
// knows, by heading. facts are defaults and bounds that the row of "heading/key" must
// name.
func CheckReference(t *testing.T, page string, sections map[string][]Key, facts map[string][]string) {
	t.Helper()
	found := rows(t, page)
	for section, keys := range sections {
		known := map[string]bool{}
		for _, key := range keys {
			known[key.Name] = true
			row, ok := found[section][key.Name]
			if !ok {
				t.Errorf("%s: %q has no row in %s", section, key.Name, page)
				continue
			}
			if said := row[3] == "required"; said != key.Required {
				t.Errorf("%s: %q is required: %v, the reference says %q", section, key.Name, key.Required, row[3])
			}
			for _, fact := range facts[section+"/"+key.Name] {
				if !strings.Contains(row[0], fact) {
					t.Errorf("%s: the row of %q does not say %s", section, key.Name, fact)
				}
			}
		}
		for name := range found[section] {
			if !known[name] {
				t.Errorf("%s: the reference describes %q, which is no key", section, name)
			}
		}
	}
	for key := range facts {
		section, name, _ := strings.Cut(key, "/")
		if _, ok := found[section][name]; !ok {
			t.Errorf("a fact about %q is not looked for anywhere", key)
		}
	}
}

var documentedRow = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// rows reads the tables of a page: section, then key, then the row.
func rows(t *testing.T, page string) map[string]map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found, section := map[string]map[string][]string{}, ""
	for line := range strings.SplitSeq(string(raw), "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		if m := documentedRow.FindStringSubmatch(line); m != nil {
			if found[section] == nil {
				found[section] = map[string][]string{}
			}
			found[section][m[1]] = m
		}
	}
	return found
}

// Tables counts the tables of keys in the sources of the package under test, so
// that a new one cannot stay undocumented: functions that take nothing and return
// []field[T].
func Tables(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && returnsFields(f.Type) {
				tables++
			}
		}
	}
	return tables
}

func returnsFields(f *ast.FuncType) bool {
	if f.Params.NumFields() != 0 || f.Results.NumFields() != 1 {
		return false
	}
	list, ok := f.Results.List[0].Type.(*ast.ArrayType)
	if !ok {
		return false
	}
	index, ok := list.Elt.(*ast.IndexExpr)
	if !ok {
		return false
	}
	name, ok := index.X.(*ast.Ident)
	return ok && name.Name == "field"
}
