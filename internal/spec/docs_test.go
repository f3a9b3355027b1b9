package spec

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec/yamlfile/yamlfiletest"
)

const referenceFile = "../../docs/reference/app-yaml.md"

// sections are the headings of the reference with the keys that the decoder
// knows there.
func sections() map[string][]yamlfiletest.Key {
	return map[string][]yamlfiletest.Key{
		"Keys of the file":          yamlfiletest.Keys(appFields()),
		"Keys of node":              yamlfiletest.Keys(nodeFields()),
		"Keys of on_disconnect":     yamlfiletest.Keys(disconnectFields()),
		"Keys of a service":         yamlfiletest.Keys(serviceFields()),
		"Keys of a secret variable": yamlfiletest.Keys(secretFields()),
		"Keys of a dependency":      yamlfiletest.Keys(dependencyFields()),
		"Keys of an init":           yamlfiletest.Keys(initFields()),
		"Keys of a sidecar":         yamlfiletest.Keys(sidecarFields()),
		"Keys of health":            yamlfiletest.Keys(healthFields()),
		"Keys of health.readiness":  yamlfiletest.Keys(readinessFields()),
		"Keys of health.liveness":   yamlfiletest.Keys(livenessFields()),
		"Keys of resources":         yamlfiletest.Keys(resourceFields()),
		"Keys of a volume":          yamlfiletest.Keys(volumeFields()),
		"Keys of a tmpfs":           yamlfiletest.Keys(tmpfsFields()),
		"Keys of a published port":  yamlfiletest.Keys(publishFields()),
	}
}

// facts are defaults and bounds that the row of a key must name.
var facts = map[string][]string{
	"Keys of the file/services":                {"50", strconv.Itoa(MaxContainers)},
	"Keys of node/labels":                      {strconv.Itoa(maxNodeLabels), strconv.Itoa(maxNodeLabelValueBytes)},
	"Keys of on_disconnect/move_after":         {ticked(DefaultMoveAfter), ticked(minMoveAfter), ticked(maxMoveAfter)},
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

func TestEveryKeyIsInTheReferenceAndNoOther(t *testing.T) {
	yamlfiletest.CheckReference(t, referenceFile, sections(), facts)
}

func TestEverySectionOfTheDecoderIsKnownToTheReference(t *testing.T) {
	if tables := yamlfiletest.Tables(t); tables != len(sections()) {
		t.Errorf("the decoder has %d tables of keys, this test knows %d", tables, len(sections()))
	}
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
