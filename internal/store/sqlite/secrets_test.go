package sqlite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestEveryStatementOnSecretsNamesATenant(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "secrets.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	statements := 0
	ast.Inspect(f, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING || !strings.Contains(l.Value, "secret_") {
			return true
		}
		statements++
		for _, table := range []string{"FROM secret_", "INTO secret_", "UPDATE secret_"} {
			for _, part := range strings.Split(l.Value, table)[1:] {
				if !strings.Contains(part, "tenant") {
					t.Errorf("a statement reads or writes rows of any tenant:\n%s", l.Value)
				}
			}
		}
		return true
	})
	if statements < 8 {
		t.Errorf("only %d statements were looked at", statements)
	}
}
