package archtest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPromisedBehaviourSaysWhatHoldsIt looks at the tables of
// docs/behaviour. That the tests they name exist is another test's concern.
func TestEveryPromisedBehaviourSaysWhatHoldsIt(t *testing.T) {
	test := regexp.MustCompile("`(?:Test|Example|Fuzz)[A-Z]\\w*`")
	decision := regexp.MustCompile(`\]\((\.\./decisions/[\w.-]+)\)`)
	files, rows := tree(t), 0
	for file, content := range files {
		if !strings.HasPrefix(file, "docs/behaviour/") {
			continue
		}
		for i, line := range strings.Split(string(content), "\n") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			if !strings.HasPrefix(line, "| ") || strings.TrimSpace(cells[0]) == "behaviour" {
				continue
			}
			rows++
			if len(cells) != 2 {
				t.Errorf("%s:%d has %d cells; a row says a behaviour and what holds it", file, i+1, len(cells))
				continue
			}
			by := strings.TrimSpace(cells[1])
			link := decision.FindStringSubmatch(by)
			switch {
			case link != nil:
				if target := path.Join(path.Dir(file), link[1]); files[target] == nil {
					t.Errorf("%s:%d names the decision %s, which does not exist", file, i+1, target)
				}
			case !test.MatchString(by) && by != "not yet":
				t.Errorf("%s:%d: %q is neither a test, nor a decision, nor \"not yet\"", file, i+1, by)
			}
		}
	}
	if rows == 0 {
		t.Error("no behaviour was found under docs/behaviour")
	}
}
