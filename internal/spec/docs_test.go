package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

const referenceFile = "../../docs/reference/app-yaml.md"

// documented is a key as the tables of a section must show it.
type documented struct {
	name     string
	required bool
}

func documentedFields[T any](fields []field[T]) []documented {
	all := make([]documented, len(fields))
	for i, f := range fields {
		all[i] = documented{f.Name, f.Required}
	}
	return all
}

// sections are the headings of the reference with the keys that the decoder
// knows there.
func sections() map[string][]documented {
	return map[string][]documented{
		"Keys of the file":          documentedFields(appFields()),
		"Keys of a service":         documentedFields(serviceFields()),
		"Keys of a secret variable": documentedFields(secretFields()),
		"Keys of a dependency":      documentedFields(dependencyFields()),
		"Keys of an init":           documentedFields(initFields()),
		"Keys of a sidecar":         documentedFields(sidecarFields()),
		"Keys of health":            documentedFields(healthFields()),
		"Keys of health.readiness":  documentedFields(readinessFields()),
		"Keys of health.liveness":   documentedFields(livenessFields()),
		"Keys of resources":         documentedFields(resourceFields()),
		"Keys of a volume":          documentedFields(volumeFields()),
		"Keys of a tmpfs":           documentedFields(tmpfsFields()),
		"Keys of a published port":  documentedFields(publishFields()),
	}
}

// facts are defaults and bounds that the row of a key must name.
var facts = map[string][]string{
	"Keys of the file/services":                {"50", strconv.Itoa(MaxContainers)},
	"Keys of a service/max_surge":              {"`1`", "50"},
	"Keys of a service/max_unavailable":        {"`0`", "50"},
	"Keys of a service/restart":                {"`always`", "`on-failure`", "`no`"},
	"Keys of a service/completion_timeout":     {ticked(DefaultCompletionTimeout), ticked(minCompletionTimeout), ticked(maxCompletionTimeout)},
	"Keys of a service/depends_timeout":        {ticked(DefaultDependsTimeout), ticked(minDependsTimeout), ticked(maxDependsTimeout)},
	"Keys of a service/tmpfs":                  {strconv.Itoa(maxTmpfs)},
	"Keys of a tmpfs/size":                     {"`" + FormatBytes(minTmpfsBytes) + "`"},
	"Keys of a dependency/condition":           {"`started`", "`ready`", "`completed`"},
	"Keys of health.liveness/interval":         {ticked(DefaultLivenessInterval), ticked(minLivenessInterval), ticked(maxLivenessInterval)},
	"Keys of health.liveness/timeout":          {ticked(DefaultProbeTimeout), ticked(minProbeTimeout), ticked(maxProbeTimeout)},
	"Keys of health.liveness/failures":         {strconv.Itoa(DefaultLivenessFailures), strconv.Itoa(maxLivenessFailures)},
	"Keys of a service/replicas":               {"`1`", "50"},
	"Keys of a service/port":                   {"65535"},
	"Keys of a service/env":                    {"1000"},
	"Keys of a service/domains":                {"100"},
	"Keys of a service/labels":                 {"32", "255", "4096", "`berth.`"},
	"Keys of a service/stable_window":          {"`0s`", ticked(maxStableWindow)},
	"Keys of a service/drain_timeout":          {ticked(DefaultDrainTimeout), ticked(maxDrainTimeout)},
	"Keys of a service/stop_grace":             {ticked(DefaultStopGrace), ticked(maxStopGrace)},
	"Keys of a service/hold_timeout":           {ticked(DefaultHoldTimeout), ticked(maxHoldTimeout)},
	"Keys of a service/keep_previous":          {"`0s`", "`24h`"},
	"Keys of health/ready_timeout":             {ticked(DefaultReadyTimeout), ticked(minReadyTimeout), ticked(maxReadyTimeout)},
	"Keys of health.readiness/interval":        {ticked(DefaultProbeInterval), ticked(minProbeInterval), ticked(maxProbeInterval)},
	"Keys of health.readiness/timeout":         {ticked(DefaultProbeTimeout), ticked(minProbeTimeout), ticked(maxProbeTimeout)},
	"Keys of health.readiness/expected_status": {"`" + DefaultExpected + "`", "200", "599"},
	"Keys of resources/memory":                 {"`" + FormatBytes(minMemoryBytes) + "`"},
	"Keys of resources/cpu":                    {"`" + FormatMilliCPU(minMilliCPU) + "`", "`" + FormatMilliCPU(maxMilliCPU) + "`"},
}

func ticked(t time.Duration) string { return "`" + FormatDuration(t) + "`" }

var documentedRow = regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// rows reads the tables of the reference: section, then key, then the row.
func rows(t *testing.T) map[string]map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(referenceFile)
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

func TestEveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	found := rows(t)
	for section, keys := range sections() {
		known := map[string]bool{}
		for _, key := range keys {
			known[key.name] = true
			row, ok := found[section][key.name]
			if !ok {
				t.Errorf("%s: %q has no row in %s", section, key.name, referenceFile)
				continue
			}
			if said := row[3] == "required"; said != key.required {
				t.Errorf("%s: %q is required: %v, the reference says %q", section, key.name, key.required, row[3])
			}
			for _, fact := range facts[section+"/"+key.name] {
				if !strings.Contains(row[0], fact) {
					t.Errorf("%s: the row of %q does not say %s", section, key.name, fact)
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

// TestEverySectionOfTheDecoderIsKnownToTheReference finds the tables of keys in
// the source, so that a new one cannot stay undocumented.
func TestEverySectionOfTheDecoderIsKnownToTheReference(t *testing.T) {
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
	if tables != len(sections()) {
		t.Errorf("the decoder has %d tables of keys, this test knows %d", tables, len(sections()))
	}
}

// returnsFields reports whether a function takes nothing and returns []field[T].
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

func TestTheExamplesOfTheReferenceAreValid(t *testing.T) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(examples) < 2 {
		t.Fatalf("%d examples, want at least 2", len(examples))
	}
	for _, example := range examples {
		if _, err := Parse([]byte(example[1]), Options{}); err != nil {
			t.Errorf("%v\nin\n%s", err, example[1])
		}
	}
}

func TestTheMessagesInTheReferenceAreReal(t *testing.T) {
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := os.ReadFile("testdata/broken/app.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "```text\n"+string(messages)+"```") {
		t.Errorf("%s does not show the messages of testdata/broken/app.golden:\n%s", referenceFile, messages)
	}
}
