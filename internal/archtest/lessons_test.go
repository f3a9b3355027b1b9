package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxFunction is how many lines a function may have: more than a screen shows at
// once is read in pieces, and understood so.
const maxFunction = 80

// TestNoFunctionIsTooLong passes over tests and what is generated, and over functions
// that are one statement: a table is read line by line.
func TestNoFunctionIsTooLong(t *testing.T) {
	parsed(t, func(file string, fset *token.FileSet, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "test/") || ast.IsGenerated(f) {
			return
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || len(fn.Body.List) == 1 {
				continue
			}
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFunction {
				t.Errorf("%s: %s has %d lines; split it, %d is the most", fset.Position(fn.Pos()), fn.Name.Name, n, maxFunction)
			}
		}
	})
}

// TestNoCommentNamesATicket keeps history out of the code: who reads a comment does
// not have the ticket.
func TestNoCommentNamesATicket(t *testing.T) {
	// Pieced together, so that this file does not find itself.
	ticket := regexp.MustCompile(`(?i)\b(?:EN` + `G|JI` + `RA|TI` + `CKET)-\d+|\b(?:iss` + `ue|fix` + `es|clo` + `ses|PR|see) #\d+`)
	parsed(t, func(_ string, fset *token.FileSet, f *ast.File) {
		for _, group := range f.Comments {
			if found := ticket.FindString(group.Text()); found != "" {
				t.Errorf("%s names %q; say why instead", fset.Position(group.Pos()), found)
			}
		}
	})
}

// TestTestsOfTheBackendLookForLeaks looks at every package of the floor that has
// tests: a goroutine that is left behind there fails them.
func TestTestsOfTheBackendLookForLeaks(t *testing.T) {
	tested, looks := map[string]bool{}, map[string]bool{}
	for file, content := range tree(t) {
		folder := path.Dir(file)
		if !strings.HasSuffix(file, "_test.go") || folder != "backend" && !strings.HasPrefix(folder, "backend/") {
			continue
		}
		tested[folder] = true
		looks[folder] = looks[folder] || strings.Contains(string(content), "goleak.VerifyTestMain(m)")
	}
	if len(tested) == 0 {
		t.Fatal("no test of the backend was found: the rule looked in the wrong place")
	}
	for folder := range tested {
		if !looks[folder] {
			t.Errorf("%s has tests and no TestMain with goleak.VerifyTestMain", folder)
		}
	}
}

// TestTheTestsRunWithTheRaceDetector looks at what `make test` runs last: all of them.
func TestTheTestsRunWithTheRaceDetector(t *testing.T) {
	makefile := string(tree(t)["Makefile"])
	_, recipe, found := strings.Cut(makefile, "\ntest: ")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	all := regexp.MustCompile(`(?m)^\t@.*testsum \$\(RACE\) .*\$\(TEST\)$`)
	if !found || !all.MatchString(recipe) || !strings.Contains(makefile, "\nRACE := -race ") {
		t.Errorf("`make test` does not run every test with the race detector:\n%s", recipe)
	}
}
