package manifest

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/spec/yamlfile/yamlfiletest"
	"github.com/berth-cloud/berth/provider"
)

const referenceFile = "../../../docs/reference/manifest.md"

// keysOf are the keys of an object of the schema, which TestSchemaAndValidatorAgree holds
// to the reader.
func keysOf(t *testing.T, object any) []yamlfiletest.Key {
	t.Helper()
	of, _ := object.(map[string]any)
	properties, _ := of["properties"].(map[string]any)
	if len(properties) == 0 {
		t.Fatal("the schema has no such object")
	}
	required, _ := of["required"].([]any)
	var out []yamlfiletest.Key
	for name := range properties {
		out = append(out, yamlfiletest.Key{Name: name, Required: slices.Contains(required, any(name))})
	}
	return out
}

func TestEveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	var schema struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	dependencies, _ := schema.Defs["service"]["properties"].(map[string]any)["depends_on"].(map[string]any)
	number := strconv.Itoa
	yamlfiletest.CheckReference(t, referenceFile, map[string][]yamlfiletest.Key{
		"Keys of the document":   keysOf(t, map[string]any(schema.Defs["stack"])),
		"Keys of a service":      keysOf(t, map[string]any(schema.Defs["service"])),
		"Keys of a port":         keysOf(t, map[string]any(schema.Defs["port"])),
		"Keys of a health check": keysOf(t, map[string]any(schema.Defs["healthCheck"])),
		"Keys of a dependency":   keysOf(t, dependencies["additionalProperties"]),
	}, map[string][]string{
		"Keys of the document/services":       {number(MaxServices), number(MaxServiceName), number(provider.MaxStatefulNameLength), "Without this key"},
		"Keys of a service/image":             {number(maxImage)},
		"Keys of a service/ports":             {number(MaxPorts)},
		"Keys of a service/expose":            {number(MaxExpose)},
		"Keys of a service/env":               {number(MaxEnv), number(maxName), number(maxEnvValue)},
		"Keys of a service/labels":            {number(MaxLabels), number(maxLabelValue)},
		"Keys of a service/command":           {number(MaxArguments)},
		"Keys of a service/args":              {number(MaxArguments)},
		"Keys of a service/tmpfs":             {number(MaxTmpfs), number(tmpfsSizeMB), "`/tmp`", "`/run`"},
		"Keys of a service/stop_grace_period": {"`10s`", "`1s`", "`2m`"},
		"Keys of a health check/test":         {number(MaxArguments), string(TestCommand), string(TestShell), testNoneText},
		"Keys of a health check/timeout":      {"`30s`", "`24h`"},
		"Keys of a health check/interval":     {"`24h`"},
		"Keys of a health check/start_period": {"`24h`"},
		"Keys of a health check/retries":      {number(MaxRetries)},
		"Keys of a dependency/condition":      {string(Started), string(Healthy)},
	})
	text := page(t)
	for _, fact := range []string{
		number(MaxBytes), number(MaxValues), number(MaxDepth) + " deep", "at most " + number(MaxDependencyDepth) + " stand in a row",
		"at most " + number(pidsLimit) + " processes", "up to " + number(maxFaults) + " faults", "is called `" + DefaultService + "`",
	} {
		if !strings.Contains(text, fact) {
			t.Errorf("the reference does not say %s", fact)
		}
	}
	if DefaultStopGrace.Seconds() != 10 || MinStopGrace.Seconds() != 1 || MaxStopGrace.Minutes() != 2 || DefaultHealthTimeout.Seconds() != 30 || MaxHealthDuration.Hours() != 24 {
		t.Error("a duration is another one than the reference says")
	}
}

const testNoneText = string(testNone)

func page(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The documents of the reference are good but for the last, whose faults it tells.
func TestTheDocumentsInTheReferenceAreReal(t *testing.T) {
	text := page(t)
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) != 3 {
		t.Fatalf("there are %d documents", len(blocks))
	}
	for _, block := range blocks[:2] {
		if _, err := Parse([]byte(block[1])); err != nil {
			t.Errorf("%s is %v", block[1], err)
		}
	}
	_, err := Parse([]byte(blocks[2][1]))
	if err == nil || !strings.Contains(text, "```text\n"+err.Error()+"\n```") {
		t.Errorf("the reference does not show this:\n%v", err)
	}
}

// What the reference says is refused by its name is, in any case.
func TestWhatTheReferenceCallsTakenIsRefused(t *testing.T) {
	text := page(t)
	for word, document := range map[string]string{
		"`PATH`": `"env":{"Path":"x"}`, "`LD_`": `"env":{"ld_a":"x"}`, "`BERTH_`": `"env":{"Berth_a":"x"}`, "`FRED_`": `"env":{"FRED_A":"x"}`,
		"`DOCKER_`": `"env":{"docker_a":"x"}`, "`berth.`": `"labels":{"Berth.a":"x"}`, "`fred.`": `"labels":{"fred.a":"x"}`,
		"`traefik.`": `"labels":{"TRAEFIK.a":"x"}`, "`/proc`": `"tmpfs":["/proc/a"]`, "`/sys`": `"tmpfs":["/sys"]`, "`/dev`": `"tmpfs":["/dev/shm"]`,
	} {
		if _, err := Parse([]byte(`{"image":"a",` + document + `}`)); err == nil || !strings.Contains(text, word) {
			t.Errorf("%s: it is %v, and in the reference: %t", document, err, strings.Contains(text, word))
		}
	}
}
