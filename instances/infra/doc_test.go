package infra_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/berth-cloud/berth/instances/infra/infratest"
)

func TestEveryRuleNamesItsCasesAndEveryCaseHasItsRule(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`\b[A-Z][a-z]+/[A-Z][A-Za-z]+\b`).FindAllString(string(raw), -1) {
		named[name] = true
	}
	for _, c := range infratest.Cases() {
		if !named[c.Name] {
			t.Errorf("no rule in doc.go names the case %s", c.Name)
		}
		delete(named, c.Name)
	}
	for name := range named {
		t.Errorf("doc.go names the case %s, which does not exist", name)
	}
}
