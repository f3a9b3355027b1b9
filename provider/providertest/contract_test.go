package providertest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/provider/providertest"
)

// caseName is how package provider names the cases that hold a rule.
var caseName = regexp.MustCompile(`\b[A-Z][A-Za-z]*/[A-Z][A-Za-z]*\b`)

func TestEveryRuleOfTheContractIsHeldByCasesThatExist(t *testing.T) {
	doc, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range providertest.Cases() {
		names = append(names, c.Name)
	}
	named := caseName.FindAllString(string(doc), -1)
	if len(named) < 50 {
		t.Fatalf("only %d cases are named; is the documentation where it was?", len(named))
	}
	for _, name := range named {
		if !slices.Contains(names, name) {
			t.Errorf("the documentation of package provider names the case %s, which does not exist", name)
		}
	}
	rules := regexp.MustCompile(`(?m)^// +([0-9]+)\. `).FindAllStringIndex(string(doc), -1)
	for i, at := range rules {
		end := len(doc)
		if i+1 < len(rules) {
			end = rules[i+1][0]
		}
		if !caseName.Match(doc[at[0]:end]) {
			rule, _, _ := strings.Cut(string(doc[at[0]:end]), "\n")
			t.Errorf("no case holds the rule %q", rule)
		}
	}
}
