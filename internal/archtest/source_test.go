package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/bash", "/usr/bin/sh", "busybox"}

// syntax is a Go file of the tree.
type syntax struct {
	fset *token.FileSet
	file *ast.File
	err  error
}

var parseTree = sync.OnceValue(func() map[string]syntax {
	all := map[string]syntax{}
	files, _ := readTree() // whoever asks has seen the error
	for path, content := range files {
		if strings.HasSuffix(path, ".go") {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, content, parser.SkipObjectResolution|parser.ParseComments)
			all[path] = syntax{fset, f, err}
		}
	}
	return all
})

// parsed walks the syntax of every Go file of the tree.
func parsed(t *testing.T, visit func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	tree(t)
	for path, s := range parseTree() {
		if s.err != nil {
			t.Errorf("%s: %v", path, s.err)
			continue
		}
		visit(path, s.fset, s.file)
	}
}

func TestNobodyStartsAShell(t *testing.T) {
	parsed(t, func(_ string, fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			var args []ast.Expr
			run := false
			switch n := n.(type) {
			case *ast.CallExpr:
				args, run = n.Args, isCall(n, "exec", "Command") || isCall(n, "exec", "CommandContext")
			case *ast.CompositeLit:
				args = n.Elts
			}
			if at, ok := shellIn(args, run); ok {
				t.Errorf("%s starts a shell; pass an argument vector", fset.Position(at))
			}
			return true
		})
	})
}

// shellIn finds a shell's name followed by -c, or with run a shell at all.
func shellIn(args []ast.Expr, run bool) (token.Pos, bool) {
	for i, a := range args {
		if !slices.Contains(shells, literal(a)) {
			continue
		}
		if run || i+1 < len(args) && strings.HasPrefix(literal(args[i+1]), "-") && strings.HasSuffix(literal(args[i+1]), "c") {
			return a.Pos(), true
		}
	}
	return token.NoPos, false
}

func literal(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(l.Value)
	if err != nil {
		return ""
	}
	return s
}

func isCall(c *ast.CallExpr, pkg, name string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// readers of the environment are the programs, the wiring and the workshop; all
// others are told what they need.
var environmentReaders = []string{
	"cmd/...", "internal/daemon/...", "internal/cli/...", "internal/tools/...", "internal/archtest/...", "test/...",
	// A program inside the containers of tests.
	"provider/providertest/script/program",
}

func TestOnlyTheWiringReadsTheEnvironment(t *testing.T) {
	parsed(t, func(path string, fset *token.FileSet, f *ast.File) {
		dir := path[:max(strings.LastIndexByte(path, '/'), 0)]
		if strings.HasSuffix(path, "_test.go") || slices.ContainsFunc(environmentReaders, func(p string) bool { return within(dir, p) }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, name := range []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"} {
				if isCall(c, "os", name) && testingHelper(f) == "" {
					t.Errorf("%s reads the environment; let the wiring pass it in", fset.Position(c.Pos()))
				}
			}
			return true
		})
	})
}

// testingHelper names the import that makes a file one for tests, if there is one.
func testingHelper(f *ast.File) string {
	for _, i := range f.Imports {
		if i.Path.Value == `"testing"` {
			return "testing"
		}
	}
	return ""
}
