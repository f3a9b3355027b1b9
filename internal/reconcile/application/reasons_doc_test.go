package application

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// guide is where users look a reason up.
const guide = "../../../docs/guides/failed-deploy.md"

// unfailing are the reasons that nobody has to look up: they say that all is well,
// that somebody asked for it, or how far a change is.
var unfailing = map[Reason]bool{
	ReasonDeployed: true, ReasonRollingOut: true, ReasonScaling: true,
	ReasonNoDesiredState: true, ReasonSuspended: true, ReasonSuspending: true, ReasonStopped: true, ReasonStopping: true,
	ReasonMaintenance: true, ReasonStarting: true, ReasonHandingOver: true, ReasonResolvingImage: true, ReasonPullingImage: true,
	ReasonCompleted: true, ReasonRunningToComplete: true,
	ReasonTeardownPending: true, ReasonTeardownDone: true, ReasonNothingToDo: true,
}

func TestTheGuideHasEveryReasonOfAFailure(t *testing.T) {
	reasons := declaredReasons(t)
	rows := guideRows(t)
	for r := range reasons {
		switch {
		case unfailing[r] && rows[r]:
			t.Errorf("%s is in %s and counted as one that nobody looks up", r, guide)
		case !unfailing[r] && !rows[r]:
			t.Errorf("%s does not say what %s means, what to look at and what to do", guide, r)
		}
	}
	for r := range rows {
		if !reasons[r] {
			t.Errorf("%s explains %s, which is no reason", guide, r)
		}
	}
}

// declaredReasons are the values of the constants in reasons.go.
func declaredReasons(t *testing.T) map[Reason]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Reason]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			value, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[Reason(value)] = true
		}
		return true
	})
	if len(out) < 40 {
		t.Fatalf("reasons.go has %d reasons", len(out))
	}
	return out
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\| [^|]{10,} \\| [^|]{10,} \\|$")
	word = regexp.MustCompile("`([A-Z][A-Za-z]+)`")
)

// guideRows are the reasons with a full row in a table of the guide, and
// CrashLoopBackOff, which has a paragraph.
func guideRows(t *testing.T) map[Reason]bool {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	out := map[Reason]bool{ReasonCrashLoop: strings.Contains(string(text), "\n`"+string(ReasonCrashLoop)+"` is")}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		for _, name := range word.FindAllStringSubmatch(m[1], -1) {
			out[Reason(name[1])] = true
		}
	}
	return out
}
